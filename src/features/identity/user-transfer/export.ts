import type { UserRecord } from '#src/contract/user.js';
import type { HashDescription } from '#src/platform/crypto/hashing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Identity } from '../identities/index.js';
import { userTable } from '../users/index.js';

/** A user with everything that an import takes. */
export interface ExportedUser {
  readonly user: UserRecord;
  readonly password: HashDescription | undefined;
  /** The secret of the authenticator app, in base32. */
  readonly totp: string | undefined;
  readonly identities: readonly Identity[];
}

/** Selects the next users of a project in the order of their ids. */
export function exportedPage(sql: Sql, projectId: string, after: string, limit: number): Query {
  return sql`select ${userTable.row} from users where project_id = ${projectId} and id > ${after} order by id limit ${limit}`;
}
