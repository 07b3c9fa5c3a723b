import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Courier } from '../../installation/index.js';
import type { Factors } from '../factors/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Sessions } from '../sessions/index.js';
import type { Users } from '../users/index.js';

/** A kind of contact. */
export type Contact = 'email' | 'phone';

/** Features that claims depend on. */
export interface ClaimDeps {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly factors: Factors;
  readonly courier: Courier;
  /** Checks for logins that do not need a contact, such as linked identities or passkeys. */
  readonly otherWaysIn: readonly ((reader: Reader, project: Project, account: UserRecord) => Promise<boolean>)[];
}
