import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { emailAddress, newId } from '#src/contract/shapes.js';
import { tokenShape } from '../../one-time-secrets/index.js';

/** Login by a code that is mailed; `POST /account/sessions/token` redeems it. */
export const emailCodeApi = declare({
  request: {
    id: 'account.createEmailToken',
    method: 'POST',
    path: '/account/tokens/email',
    summary: 'Mails a code of six digits that logs in. The answer does not tell whether the address is known.',
    tag: 'account',
    auth: ['guest', 'user', 'key'],
    jwt: false,
    scopes: ['sessions.write'],
    limit: 'send',
    bodyBytes: bodySizes.account,
    body: z.object({
      userId: newId,
      email: emailAddress,
      phrase: z.boolean().default(false).meta({ description: 'Whether answer and mail show the same two words' }),
    }),
    status: 201,
    reply: json(tokenShape),
    errors: [],
  },
});
