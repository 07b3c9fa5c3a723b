import type { Query, Sql } from '#src/platform/db/query.js';
import { auditEntries, auditSubjects } from '../outbox/index.js';

/** Whose rows. */
interface Whose {
  readonly projectId: string;
  readonly userId: string;
}

/** SQL over what was recorded of a user. It reads only; the outbox writes. */
export function createActivityStore(sql: Sql) {
  const { knex } = sql;
  // The words of the two conditions are those of the indexes in migrations/0011_proofs.js and 0012_writes.js, or they are of no use.
  const owner =
    sql.dialect === 'sqlite'
      ? "substr(resource, 7, instr(substr(resource, 7) || '/', '/') - 1)"
      : "split_part(resource, '/', 2)";
  const rows = (projectId: string) => knex(auditEntries.name).where({ project_id: projectId });
  const ofUser = ({ projectId, userId }: Whose) =>
    rows(projectId).whereRaw(`substr(resource, 1, 6) = 'users/' and ${owner} = ?`, [userId]);
  const byUser = ({ projectId, userId }: Whose) =>
    rows(projectId)
      .whereRaw("actor_kind = 'user' and not (substr(resource, 1, 10) = 'databases/')")
      .where({ actor_id: userId });
  const newest = [
    { column: 'at', order: 'desc' },
    { column: 'id', order: 'desc' },
  ];
  /** Ids of what was done to the user and of what the user did, but for documents, of which there may be millions; each half by its index, and no further than asked. */
  const ids = (whose: Whose, limit: number) => {
    const some = (half: ReturnType<typeof rows>) =>
      knex(half.select('id', 'at').orderBy(newest).limit(limit).as('half')).select('id');
    return some(ofUser(whose)).union(some(byUser(whose)));
  };
  return {
    list: (whose: Whose, limit: number, offset: number): Query =>
      sql.compile(
        knex(auditEntries.name)
          .whereIn('id', ids(whose, limit + offset))
          .orderBy(newest)
          .limit(limit)
          .offset(offset)
          .select(auditEntries.select(sql)),
      ),
    count: (whose: Whose, limit: number): Query =>
      sql.compile(knex(ids(whose, limit).as('found')).count({ total: '*' })),
    logins: (whose: Whose, limit: number): Query =>
      sql.compile(
        ofUser(whose).where({ action: 'sessionCreated' }).orderBy(newest).limit(limit).select(auditEntries.select(sql)),
      ),
    subjects: (entryIds: readonly string[]): Query =>
      sql.compile(
        knex(auditSubjects.name)
          .where(sql.isOneOf('entry_id', sql.list(entryIds)))
          .select(auditSubjects.select(sql)),
      ),
  };
}
