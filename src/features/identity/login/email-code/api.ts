import { z } from 'zod';
import { declare } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { newId } from '#src/contract/shapes.js';
import { secretRequest } from '../method/declarations.js';

/** Login with a mailed code; `POST /account/sessions/token` redeems it. */
export const emailCodeApi = declare({
  request: {
    ...secretRequest,
    id: 'account.createEmailToken',
    path: '/account/tokens/email',
    summary: 'Mails a code of six digits that logs in. The answer does not tell whether the address is known.',
    access: { ...secretRequest.access, login: 'login.emailOtp' },
    input: {
      body: z.object({
        userId: newId,
        email: emailAddress,
        phrase: z.boolean().default(false).meta({ description: 'Whether answer and mail show the same two words' }),
      }),
    },
    reply: { ...secretRequest.reply, errors: [] },
  },
});
