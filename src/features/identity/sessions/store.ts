import type { Device, Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { oneOf, raw } from '#src/platform/db/template.js';
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

const session = sessions.rowAs('session');
const user = userTable.rowAs('user');

/** SQL over sessions. */
export function createSessionStore(sql: Sql) {
  const isOverdue = ({ column, until, projectIds }: Overdue) =>
    sql`${raw(column)} <= ${until}${projectIds !== undefined && sql` and project_id ${oneOf(projectIds)}`}`;
  return {
    /** Sessions with their users in one query, for authenticating requests. */
    withUsers: (ids: readonly string[]) => sql`
      select sessions.id, ${session}, ${user} from sessions
      join users on users.project_id = sessions.project_id and users.id = sessions.user_id
      where sessions.id ${oneOf(ids)}`,
    active: ({ projectId, userId, now }: { projectId: string; userId: string; now: Instant }) => sql`
      select ${sessions.row} from sessions
      where project_id = ${projectId} and user_id = ${userId} and ended_at is null and expire > ${now}
      order by created_at, id`,
    insert: (row: SessionRow) => sql`${sessions.insert(row)}`,
    update: (projectId: string, id: string, change: Partial<SessionRow>) =>
      sql`update sessions set ${sessions.set(change)} where project_id = ${projectId} and id = ${id}`,
    overdue: (selection: Overdue, max: number) =>
      sql`select ${sessions.row} from sessions where ${isOverdue(selection)} limit ${max}`,
    /** Deletes the sessions that are still overdue and returns them. */
    removeOverdue: (projectId: string, ids: readonly string[], selection: Overdue) => sql`
      delete from sessions where ${isOverdue(selection)} and project_id = ${projectId} and id ${oneOf(ids)}
      returning ${sessions.row}`,
    remove: ({ projectId, id }: { projectId: string; id: string }) =>
      sql`delete from sessions where project_id = ${projectId} and id = ${id}`,
  };
}

/** Queries over sessions. */
export type SessionStore = ReturnType<typeof createSessionStore>;
