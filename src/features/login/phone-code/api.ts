import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { newId, phoneNumber } from '#src/contract/shapes.js';
import { tokenShape } from '../../one-time-secrets/index.js';

/** Login by a code that is sent by SMS; `POST /account/sessions/token` redeems it. */
export const phoneCodeApi = declare({
  request: {
    id: 'account.createPhoneToken',
    method: 'POST',
    path: '/account/tokens/phone',
    aliases: ['/account/sessions/phone'],
    summary: 'Sends a code of six digits that logs in, by SMS. The answer does not tell whether the number is known.',
    tag: 'account',
    auth: ['guest', 'user', 'key'],
    jwt: false,
    scopes: ['sessions.write'],
    limit: 'send',
    bodyBytes: bodySizes.account,
    body: z.object({ userId: newId, phone: phoneNumber }),
    status: 201,
    reply: json(tokenShape),
    errors: ['general_phone_disabled'],
  },
});
