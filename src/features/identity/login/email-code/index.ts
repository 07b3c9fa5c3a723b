import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import type { LoginMethod, SentSecret } from '../method/method.js';
import { phrase } from '../method/phrase.js';
import { createLoginRequest } from '../method/request.js';
import { emailCodeApi } from './api.js';

const secret: SentSecret<'email-code'> = {
  purpose: 'email-code',
  contact: 'email',
  form: 'code',
  lifeSeconds: secretLife.code,
};

/** Login with a mailed code. */
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
