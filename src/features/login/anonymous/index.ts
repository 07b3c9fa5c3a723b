import { by, implement } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import { type Sessions, toNewSession } from '../../sessions/index.js';
import { anonymousLoginApi } from './api.js';

/** Login without any name. */
export function createAnonymousLogin(
  { db }: Pick<Platform, 'db'>,
  { accounts, sessions }: { accounts: Accounts; sessions: Sessions },
) {
  const operations = implement(anonymousLoginApi, {
    login: async (call) => {
      const { project, request } = call;
      const nobody = { id: uniqueId, email: null, name: '', passwordHash: null, locale: request.locale };
      const opened = await db.work(by(call), async (unit) =>
        sessions.open(unit, project, await accounts.create(unit, project.id, nobody), {
          provider: 'anonymous',
          providerUid: '',
          factors: ['anonymous'],
          request,
        }),
      );
      return toNewSession(opened.session, opened.secret);
    },
  });
  return { operations };
}
