import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Courier } from '../../courier/index.js';
import type { Limits } from '../../limits/index.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';
import { createLoginRequest } from '../request.js';
import { phoneCodeApi } from './api.js';

/** Login by a code that is sent by SMS, where the installation has a gateway. */
export function createPhoneCodeLogin(
  platform: Pick<Platform, 'db' | 'random' | 'config'>,
  doors: { accounts: Accounts; limits: Limits; secrets: OneTimeSecrets; courier: Courier },
) {
  const request = createLoginRequest(platform, doors);
  const operations = implement(phoneCodeApi, {
    request: (call) => {
      if (platform.config.smsUrl === undefined) throw new Failure('general_phone_disabled');
      const { project, body } = call;
      return request(call, {
        purpose: 'phone-code',
        form: 'code',
        lifeSeconds: secretLife.code,
        contact: 'phone',
        recipient: body.phone,
        send: (unit, addressee, { secret }) =>
          doors.courier.send(unit, project, { ...addressee, message: 'phone-code', variables: { code: secret } }),
      });
    },
  });
  return { operations };
}
