import { deviceMemory } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Activity, ActivityLog } from '../../events/index.js';
import type { Courier } from '../../installation/index.js';

const memoryMs = deviceMemory.days * 86_400_000;

/** Features that alerts depend on. */
export interface AlertDeps {
  readonly activity: ActivityLog;
  readonly courier: Courier;
  /** Providers of sessions without alerts, because their logins prove the mailbox that the alert would go to. */
  readonly quietProviders: ReadonlySet<string>;
}

/**
 * Mails a user about a login from a browser or a system not used recently, with the unit that opens the session, if the project has switched
 * it on. No cost if alerts are off.
 */
export async function alertOfLogin(
  { activity, courier, quietProviders }: AlertDeps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  session: Session,
  locale: string | null,
): Promise<void> {
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
}

function isKnown(login: Activity, { device, createdAt }: Session): boolean {
  // A login dated in the future (the clock was set back since) is remembered as long as a past one.
  return (
    Math.abs(millisecondsOf(createdAt) - millisecondsOf(login.at)) <= memoryMs &&
    login.values.clientName === device.clientName &&
    login.values.osName === device.osName
  );
}
