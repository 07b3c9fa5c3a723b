import { z } from 'zod';
import { declare } from '#src/contract/operation.js';
import { emailAddress, newId } from '#src/contract/shapes.js';
import { redemption, secretRequest } from '../declarations.js';

/** Login by a link that is mailed; `POST /account/sessions/token` redeems it too. */
export const magicUrlApi = declare({
  request: {
    ...secretRequest,
    id: 'account.createMagicURLToken',
    login: 'login.magicUrl',
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
    login: 'login.magicUrl',
    path: '/account/sessions/magic-url',
    summary: 'Logs in by a mailed link; POST /account/sessions/token does the same.',
  },
});
