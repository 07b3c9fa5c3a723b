import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Courier } from '../../courier/index.js';
import type { Limits } from '../../limits/index.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';
import { phrase } from '../phrase.js';
import { createLoginRequest } from '../request.js';
import { emailCodeApi } from './api.js';

/** Login by a code that is mailed. */
export function createEmailCodeLogin(
  platform: Pick<Platform, 'db' | 'random' | 'config'>,
  doors: { accounts: Accounts; limits: Limits; secrets: OneTimeSecrets; courier: Courier },
) {
  const request = createLoginRequest(platform, doors);
  const operations = implement(emailCodeApi, {
    request: (call) => {
      const { project, body } = call;
      const words = body.phrase ? phrase(platform.random) : '';
      return request(call, {
        purpose: 'email-code',
        form: 'code',
        lifeSeconds: secretLife.code,
        contact: 'email',
        recipient: body.email,
        phrase: words,
        send: (unit, addressee, { secret }) => {
          const variables = { code: secret, phrase: words };
          doors.courier.send(unit, project, { ...addressee, message: 'email-code', variables });
        },
      });
    },
  });
  return { operations };
}
