import { z } from 'zod';
import { declare, page } from '#src/contract/operation.js';
import { emailAddress, newId } from '#src/contract/shapes.js';
import { redemption, secretRequest } from '../declarations.js';

/** Login by a link that is mailed; `POST /account/sessions/token` redeems it too. */
export const magicUrlApi = declare({
  request: {
    ...secretRequest,
    id: 'account.createMagicURLToken',
    path: '/account/tokens/magic-url',
    aliases: ['/account/sessions/magic-url'],
    summary: 'Mails a link that logs in. The answer does not tell whether the address is known.',
    body: z.object({
      userId: newId,
      email: emailAddress,
      url: z.string().max(2048).default('').meta({
        description:
          'A page of a platform of the project, which gets userId and secret; a page of the service if empty',
      }),
      phrase: z.boolean().default(false).meta({ description: 'Whether answer and mail show the same two words' }),
    }),
    errors: [],
  },
  login: {
    ...redemption,
    id: 'account.updateMagicURLSession',
    path: '/account/sessions/magic-url',
    summary: 'Logs in by a mailed link; POST /account/sessions/token does the same.',
  },
  page: {
    id: 'pages.magicURL',
    method: 'GET',
    path: '/pages/magic-url',
    summary: 'The page that a link leads to where the application has none: one button, which logs in.',
    tag: 'pages',
    // A browser that follows a link may still hold a cookie; the page is the same for everybody.
    project: false,
    auth: ['guest'],
    limit: 'none',
    query: z.object({ project: z.string().max(36).default('') }),
    status: 200,
    reply: page,
    errors: ['project_not_found'],
  },
});
