import { passkeyLimits } from '#src/contract/limits.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import { describeCredential, relyingPartyId } from '../../passkeys/index.js';
import { toNewSession } from '../../sessions/index.js';
import type { LoginMethod } from '../method/method.js';
import { passkeyLoginApi } from './api.js';
import { createDecoys } from './decoys.js';
import { logInByPasskey, passkeyLogin } from './method.js';

/** Login with a passkey, either of a given address or of any user with a passkey on the device. */
export const passkey: LoginMethod = {
  ...passkeyLogin,
  reserved: ['webauthn'],
  login: 'login.passkey',
  alerts: true,
  operations: (runtime, toolkit) => {
    const { db, config } = runtime;
    const { users, passkeys } = toolkit;
    const decoysFor = createDecoys(runtime);
    return implement(passkeyLoginApi, {
      start: async (call) => {
        const { project, body } = call;
        const { email } = body;
        const account = email === undefined ? undefined : await users.findByEmail(db, project.id, email);
        const known = await passkeys.list(db, project, account?.id ?? '');
        const decoys = email === undefined ? [] : decoysFor(project, email);
        const use = { purpose: 'login', subject: email ?? '' } as const;
        const challenge = await db.work(auditContextOf(call), (unit) => passkeys.challenges.issue(unit, project, use));
        return {
          options: {
            challenge,
            timeout: passkeyLimits.ceremonySeconds * 1000,
            rpId: relyingPartyId(project, config.baseUrl),
            allowCredentials: (known.length > 0 ? known : decoys).map(describeCredential),
            userVerification: project.settings['passkeys.userVerification'],
          },
        };
      },
      finish: async (call) => toNewSession(await logInByPasskey({ ...toolkit, db }, call)),
    });
  },
};
