import { deviceMemory } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Activity, ActivityLog } from '../../events/index.js';
import type { Courier } from '../../installation/index.js';

const memoryMs = deviceMemory.days * 86_400_000;
/** What alerts use. */
export interface AlertDeps {
  readonly activity: ActivityLog;
  readonly courier: Courier;
  /** Providers of sessions whose logins are not told, as they prove the mailbox that the mail would go to. */
  readonly quietProviders: ReadonlySet<string>;
}

/** Tells users of logins from a browser or a system that they have not used lately, where the project wants that. */
export function createAlerts({ activity, courier, quietProviders }: AlertDeps) {
  const isKnown = (login: Activity, { device, createdAt }: Session): boolean =>
    // A login that lies ahead, as the clock was set back since, is remembered as long as one of the past.
    Math.abs(millisecondsOf(createdAt) - millisecondsOf(login.at)) <= memoryMs &&
    login.values.clientName === device.clientName &&
    login.values.osName === device.osName;
  return {
    /** Leaves the mail, if any, with the unit that opens the session. Costs nothing where alerts are off. */
    consider: async (
      unit: Unit,
      project: Project,
      account: UserRecord,
      session: Session,
      locale: string | null,
    ): Promise<void> => {
      const { id: userId, email, name } = account;
      if (!project.settings['session.alerts'] || email === null) return;
      if (session.pending || quietProviders.has(session.provider)) return;
      const before = await activity.logins(unit, project.id, userId, deviceMemory.logins);
      if (before.length === 0 || before.some((login) => isKnown(login, session))) return;
      const { clientName, clientVersion, osName, osVersion } = session.device;
      courier.send(unit, project, {
        message: 'new-device',
        to: email,
        userId,
        name,
        locale: locale ?? account.locale,
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
