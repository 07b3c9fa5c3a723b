import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import { addressBelow } from '#src/contract/web-address.js';
import { redemptionLink } from '../../one-time-secrets/index.js';
import type { LoginMethod, SentSecret } from '../method/method.js';
import { phrase } from '../method/phrase.js';
import { createLoginRequest } from '../method/request.js';
import { magicUrlApi } from './api.js';

const provider = 'magic-url';
const secret: SentSecret<'magic-link'> = {
  purpose: 'magic-link',
  contact: 'email',
  form: 'link',
  lifeSeconds: secretLife.magicLink,
};

/** Login with a mailed link. Opening the link changes nothing, because mail scanners open links too; a page has to post the secret. */
export const magicUrl: LoginMethod = {
  provider,
  login: 'login.magicUrl',
  factor: 'email',
  alerts: false,
  secret,
  operations: (runtime, toolkit) => {
    const { random, config } = runtime;
    const { projects, redeem } = toolkit;
    const request = createLoginRequest(runtime, toolkit, secret);
    const ownPage = addressBelow(config.baseUrl, 'auth/link');
    return implement(magicUrlApi, {
      request: async (call) => {
        const { project, body } = call;
        const words = body.phrase ? phrase(random) : '';
        const address = body.url === '' ? ownPage : projects.requireOwnUrl(project, body.url);
        return request(call, body.email, words, (issued) => ({
          link: redemptionLink(address, project, issued),
          phrase: words,
        }));
      },
      login: (call) => redeem(call, provider, [secret.purpose]),
    });
  },
};
