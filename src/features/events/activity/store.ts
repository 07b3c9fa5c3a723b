import type { Query, Sql } from '#src/platform/db/query.js';
import { auditEntries, auditSubjects } from '../outbox/index.js';

interface Whose {
  readonly projectId: string;
  readonly userId: string;
}

/** Read-only SQL over the audit entries of a user. The outbox writes them. */
export function createActivityStore(sql: Sql) {
  const { knex } = sql;
  // Both conditions must match the text of the indexes in migrations/0011_proofs.js and 0012_writes.js, or the indexes are not used.
  const owner = sql.words.secondPart('resource', 'users');
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
  /**
   * Ids of entries about the user and by the user. Excludes documents, which may be millions. Each half uses its own index and reads no
   * more than `limit`.
   */
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
