import type { Sql } from '#src/platform/db/query.js';
import { oneOf, raw, type SqlPart } from '#src/platform/db/template.js';
import { auditEntries, auditSubjects } from '../outbox/index.js';

interface Whose {
  readonly projectId: string;
  readonly userId: string;
}

/** Read-only SQL over the audit entries of a user. The outbox writes them. */
export function createActivityStore(sql: Sql) {
  // Both conditions must match the text of the indexes in migrations/0011_proofs.js and 0012_writes.js, or the indexes are not used.
  const owner = raw(sql.words.secondPart('resource', 'users'));
  const isOfUser = ({ projectId, userId }: Whose) =>
    sql`project_id = ${projectId} and substr(resource, 1, 6) = 'users/' and ${owner} = ${userId}`;
  const isByUser = ({ projectId, userId }: Whose) => sql`
    project_id = ${projectId} and actor_kind = 'user' and not (substr(resource, 1, 10) = 'databases/')
    and actor_id = ${userId}`;
  /**
   * Ids of entries about the user and by the user. Excludes documents, which may be millions. Each half uses its own index and reads no
   * more than `limit`.
   */
  const ids = (whose: Whose, limit: number) => {
    const half = (condition: SqlPart) => sql`
      select id from (select id, at from audit_entries where ${condition} order by at desc, id desc limit ${limit}) as half`;
    return sql`${half(isOfUser(whose))} union ${half(isByUser(whose))}`;
  };
  return {
    list: (whose: Whose, limit: number, offset: number) => sql`
      select ${auditEntries.row} from audit_entries where id in (${ids(whose, limit + offset)})
      order by at desc, id desc limit ${limit} offset ${offset}`,
    count: (whose: Whose, limit: number) => sql`select count(*) as total from (${ids(whose, limit)}) as found`,
    logins: (whose: Whose, limit: number) => sql`
      select ${auditEntries.row} from audit_entries where ${isOfUser(whose)} and action = 'sessionCreated'
      order by at desc, id desc limit ${limit}`,
    subjects: (entryIds: readonly string[]) =>
      sql`select ${auditSubjects.row} from audit_subjects where entry_id ${oneOf(entryIds)}`,
  };
}
