import { z } from 'zod';
import { declare } from '#src/contract/operation.js';
import { emailAddress, newId } from '#src/contract/shapes.js';
import { secretRequest } from '../declarations.js';

/** Login by a code that is mailed; `POST /account/sessions/token` redeems it. */
export const emailCodeApi = declare({
  request: {
    ...secretRequest,
    id: 'account.createEmailToken',
    login: 'login.emailOtp',
    path: '/account/tokens/email',
    summary: 'Mails a code of six digits that logs in. The answer does not tell whether the address is known.',
    body: z.object({
      userId: newId,
      email: emailAddress,
      phrase: z.boolean().default(false).meta({ description: 'Whether answer and mail show the same two words' }),
    }),
    errors: [],
  },
});
