import { z } from 'zod';
import { declare } from '#src/contract/declaration.js';
import { newId, phoneNumber } from '#src/contract/shapes.js';
import { redemption, secretRequest } from '../method/declarations.js';

/** Login with a code sent by SMS; `POST /account/sessions/token` also redeems it. */
export const phoneCodeApi = declare({
  request: {
    ...secretRequest,
    id: 'account.createPhoneToken',
    path: '/account/tokens/phone',
    aliases: ['/account/sessions/phone'],
    summary: 'Sends a code of six digits that logs in, by SMS. The answer does not tell whether the number is known.',
    access: { ...secretRequest.access, login: 'login.phone' },
    input: { body: z.object({ userId: newId, phone: phoneNumber }) },
    reply: { ...secretRequest.reply, errors: ['general_phone_disabled'] },
  },
  login: {
    ...redemption,
    id: 'account.updatePhoneSession',
    path: '/account/sessions/phone',
    summary: 'Logs in by a code from an SMS; POST /account/sessions/token does the same.',
    access: { ...redemption.access, login: 'login.phone' },
  },
});
