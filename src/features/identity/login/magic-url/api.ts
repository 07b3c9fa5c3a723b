import { z } from 'zod';
import { declare } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { newId } from '#src/contract/shapes.js';
import { redemption, secretRequest } from '../method/declarations.js';

/** Login with a mailed link; `POST /account/sessions/token` also redeems it. */
export const magicUrlApi = declare({
  request: {
    ...secretRequest,
    id: 'account.createMagicURLToken',
    path: '/account/tokens/magic-url',
    aliases: ['/account/sessions/magic-url'],
    summary: 'Mails a link that logs in. The answer does not tell whether the address is known.',
    access: { ...secretRequest.access, login: 'login.magicUrl' },
    input: {
      body: z.object({
        userId: newId,
        email: emailAddress,
        url: z.string().max(2048).default('').meta({
          description:
            'A page of a platform of the project, which gets userId and secret; a page of the service if empty',
        }),
        phrase: z.boolean().default(false).meta({ description: 'Whether answer and mail show the same two words' }),
      }),
    },
    reply: { ...secretRequest.reply, errors: [] },
  },
  login: {
    ...redemption,
    id: 'account.updateMagicURLSession',
    path: '/account/sessions/magic-url',
    summary: 'Logs in by a mailed link; POST /account/sessions/token does the same.',
    access: { ...redemption.access, login: 'login.magicUrl' },
  },
});
