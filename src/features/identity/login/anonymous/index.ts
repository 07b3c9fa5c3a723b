import { auditContextOf, implement } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import { toNewSession } from '../../sessions/index.js';
import type { LoginMethod } from '../method/method.js';
import { anonymousLoginApi } from './api.js';

const provider = 'anonymous';
const factor = 'anonymous';

/** Login without credentials. */
export const anonymous: LoginMethod = {
  provider,
  login: 'login.anonymous',
  factor,
  alerts: true,
  operations: ({ db }, { users, sessions }) =>
    implement(anonymousLoginApi, {
      login: async (call) => {
        const { project, request } = call;
        const nobody = { id: uniqueId, email: null, name: '', passwordHash: null, locale: request.locale };
        const opened = await db.work(auditContextOf(call), async (unit) => {
          const account = await users.create(unit, project.id, nobody);
          return sessions.open(unit, project, account, { provider, providerUid: '', factors: [factor], request });
        });
        return toNewSession(opened);
      },
    }),
};
