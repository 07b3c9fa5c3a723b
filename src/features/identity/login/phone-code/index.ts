import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import type { LoginMethod, SentSecret } from '../method/method.js';
import { createLoginRequest } from '../method/request.js';
import { phoneCodeApi } from './api.js';

const provider = 'phone';
const secret: SentSecret<'phone-code'> = {
  purpose: 'phone-code',
  contact: 'phone',
  form: 'code',
  lifeSeconds: secretLife.code,
};

/** Login with a code sent by SMS, if the installation has a gateway. */
export const phoneCode: LoginMethod = {
  provider,
  login: 'login.phone',
  factor: 'phone',
  alerts: true,
  secret,
  operations: (runtime, toolkit) => {
    const request = createLoginRequest(runtime, toolkit, secret);
    return implement(phoneCodeApi, {
      request: (call) => {
        if (runtime.config.smsUrl === undefined) throw new Failure('general_phone_disabled');
        return request(call, call.body.phone, '', (issued) => ({ code: issued.secret }));
      },
      login: (call) => toolkit.redeem(call, provider, [secret.purpose]),
    });
  },
};
