import type { Account } from '#src/contract/account.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Activity, ActivityLog } from '../activity/index.js';
import type { Courier } from '../courier/index.js';

/** How long a browser on a system is remembered. */
const memoryMs = 30 * 86_400_000;
/** Logins that are looked through. */
const mostLogins = 200;
/** Ways in that prove the mailbox to which the mail would go. */
const byMailbox: readonly string[] = ['magic-url', 'token'];

/** Tells users of logins from a browser or a system that they have not used lately, where the project wants that. */
export function createAlerts(activity: ActivityLog, courier: Courier) {
  const isKnown = (login: Activity, { device, createdAt }: Session): boolean =>
    millisecondsOf(createdAt) - millisecondsOf(login.at) <= memoryMs &&
    login.values.clientName === device.clientName &&
    login.values.osName === device.osName;
  return {
    /** Leaves the mail, if any, with the unit that opens the session. Costs nothing where alerts are off. */
    consider: async (
      unit: Unit,
      project: Project,
      account: Account,
      session: Session,
      locale: string | null,
    ): Promise<void> => {
      const { id: userId, email, name } = account;
      if (!project.settings['session.alerts'] || email === null) return;
      if (session.pending || byMailbox.includes(session.provider)) return;
      const before = await activity.logins(unit, project.id, userId, mostLogins);
      if (before.length === 0 || before.some((login) => isKnown(login, session))) return;
      const { clientName, clientVersion, osName, osVersion } = session.device;
      courier.send(unit, project, {
        ...{ message: 'new-device', to: email, userId, name, locale: locale ?? account.locale },
        variables: {
          client: `${clientName} ${clientVersion}`.trim(),
          system: `${osName} ${osVersion}`.trim(),
          ip: session.ip,
          at: session.createdAt,
        },
      });
    },
  };
}
