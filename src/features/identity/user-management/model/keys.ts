import type { ServerKey } from '#src/contract/actor.js';
import { auditContextOf, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { ActivityLog } from '../../../events/index.js';
import type { Factors } from '../../factors/index.js';
import type { Identities } from '../../identities/index.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';
import type { Passkeys } from '../../passkeys/index.js';
import type { SecondFactorService } from '../../second-factor/index.js';
import type { Sessions } from '../../sessions/index.js';
import type { Tokens } from '../../tokens/index.js';
import type { UserChanges, Users } from '../../users/index.js';
import { toManagedUser } from './view.js';

/** Features that user management depends on. */
export interface ManagementDeps extends Pick<Runtime, 'db' | 'sql' | 'random'> {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly userChanges: UserChanges;
  readonly lists: Lists;
  readonly tokens: Tokens;
  readonly activity: ActivityLog;
  readonly factors: Factors;
  readonly identities: Identities;
  readonly secondFactor: SecondFactorService;
  readonly passkeys: Passkeys;
  /** Purpose of the one-time login tokens. */
  readonly tokenPurpose: string;
}

/** A call by a server key that concerns one user. */
export interface OfUser {
  readonly project: Project;
  readonly actor: ServerKey;
  readonly params: { readonly userId: string };
  readonly request: RequestFacts;
}

/** Reads the user of a call. Throws Failure `user_not_found`. */
export function userOfCall({ db, users }: ManagementDeps, { project, params }: OfUser): Promise<UserRecord> {
  return users.get(db, project.id, params.userId);
}

/** Runs a unit on the user of a call, locked. Throws Failure `user_not_found`. */
export function workOnUser<T>(
  { db, userChanges }: ManagementDeps,
  call: OfUser,
  act: (unit: Unit, account: UserRecord) => Promise<T>,
): Promise<T> {
  return db.work(auditContextOf(call), async (unit) =>
    act(unit, await userChanges.lockById(unit, call.project, call.params.userId)),
  );
}

/** Creates the function that renders users for server keys. */
export function printing({ users }: ManagementDeps) {
  return (project: Project, account: UserRecord) => toManagedUser(account, users.describePassword(project, account));
}
