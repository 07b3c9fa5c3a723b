import type { Device, Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { userTable } from '../users/index.js';

/** Sessions. A session ended by a block keeps its row, so that its holder gets `user_blocked`. */
export const sessions = table<
  Session & { readonly projectId: string; readonly secretDigest: string; readonly endedAt: Instant | null }
>('sessions', {
  id: text,
  projectId: text,
  userId: text,
  secretDigest: text,
  expire: instant,
  endsBy: nullable(instant),
  provider: text,
  providerUid: text,
  factors: jsonText<readonly string[]>(),
  ip: text,
  device: jsonText<Device>(),
  authenticatedAt: instant,
  mfaUpdatedAt: nullable(instant),
  accessedAt: instant,
  endedAt: nullable(instant),
  pending: bool,
  createdAt: instant,
  updatedAt: instant,
});

/** A session row. */
export type SessionRow = ReturnType<typeof sessions.decode>;

/** Selects sessions that have expired, or that were idle for too long in some projects. */
export interface Overdue {
  readonly column: 'expire' | 'accessed_at';
  readonly until: Instant;
  readonly projectIds?: readonly string[];
}

/** SQL over sessions. */
export function createSessionStore(sql: Sql) {
  const { knex } = sql;
  const overdue = ({ column, until, projectIds }: Overdue) => {
    const found = knex(sessions.name).where(column, '<=', until);
    return projectIds === undefined ? found : found.where(sql.isOneOf('project_id', sql.list(projectIds)));
  };
  return {
    /** Sessions with their users in one query, for authenticating requests. */
    withUsers: sql.prepare<{ ids: string }>((k, p) =>
      k(sessions.name)
        .join(userTable.name, (on) =>
          on.on('users.project_id', 'sessions.project_id').andOn('users.id', 'sessions.user_id'),
        )
        .where(sql.isOneOf('sessions.id', p.ids))
        .select('sessions.id', sessions.select(sql, 'session'), userTable.select(sql, 'user')),
    ),
    active: sql.prepare<{ projectId: string; userId: string; now: Instant }>((k, p) =>
      k(sessions.name)
        .where({ project_id: p.projectId, user_id: p.userId })
        .whereNull('ended_at')
        .andWhere('expire', '>', p.now)
        .orderBy(['created_at', 'id'])
        .select(sessions.select(sql)),
    ),
    insert: (row: SessionRow): Query => sql.compile(knex(sessions.name).insert(sessions.encode(row))),
    update: (projectId: string, id: string, change: Partial<SessionRow>): Query =>
      sql.compile(knex(sessions.name).where({ project_id: projectId, id }).update(sessions.encodeSome(change))),
    overdue: (selection: Overdue, max: number): Query =>
      sql.compile(overdue(selection).limit(max).select(sessions.select(sql))),
    /** Deletes the sessions that are still overdue and returns them. */
    removeOverdue: (projectId: string, ids: readonly string[], selection: Overdue): Query => {
      const those = overdue(selection)
        .where('project_id', projectId)
        .where(sql.isOneOf('id', sql.list(ids)));
      // Knex omits `returning` for deletes on SQLite.
      return sql.compile(knex.raw('? returning ?', [those.delete(), sessions.select(sql)]));
    },
    remove: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(sessions.name).where({ project_id: p.projectId, id: p.id }).delete(),
    ),
  };
}

/** Queries over sessions. */
export type SessionStore = ReturnType<typeof createSessionStore>;
