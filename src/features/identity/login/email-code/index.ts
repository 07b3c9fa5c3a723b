import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import type { LoginMethod, SentSecret } from '../method.js';
import { phrase } from '../phrase.js';
import { createLoginRequest } from '../request.js';
import { emailCodeApi } from './api.js';

const secret: SentSecret<'email-code'> = {
  purpose: 'email-code',
  message: 'email-code',
  contact: 'email',
  form: 'code',
  lifeSeconds: secretLife.code,
};

/** Login by a code that is mailed. */
export const emailCode: LoginMethod = {
  provider: 'token',
  login: 'login.emailOtp',
  factor: 'email',
  alerts: false,
  secret,
  operations: (runtime, toolkit) => {
    const request = createLoginRequest(runtime, toolkit, secret);
    return implement(emailCodeApi, {
      request: (call) => {
        const words = call.body.phrase ? phrase(runtime.random) : '';
        return request(call, call.body.email, words, (issued) => ({ code: issued.secret, phrase: words }));
      },
    });
  },
};
