import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, table, text } from '#src/platform/db/table.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { SecondFactor } from '../factors/index.js';

/** Challenges of sessions, one per factor. */
export const challenges = table('challenges', {
  id: text,
  projectId: text,
  userId: text,
  sessionId: text,
  factor: text,
  expire: instant,
  createdAt: instant,
});

/** A challenge as stored. */
export type ChallengeRow = ReturnType<typeof challenges.decode> & { readonly factor: SecondFactor };

/** SQL over challenges. */
export function createChallengeStore(sql: Sql) {
  const { knex } = sql;
  return {
    /** Inserts a challenge in place of the previous one. */
    put: (row: ChallengeRow): Query =>
      sql.compile(knex(challenges.name).insert(challenges.encode(row)).onConflict(['session_id', 'factor']).merge()),
    find: (sessionId: string, id: string, now: Instant): Query =>
      sql.compile(
        knex(challenges.name)
          .where({ id, session_id: sessionId })
          .andWhere('expire', '>', now)
          // Skips challenges dated in the future: after the clock was set back, their age is unknown.
          .andWhere('created_at', '<=', instantOf(latestPast(millisecondsOf(now))))
          .select(challenges.select(sql)),
      ),
    remove: (id: string): Query => sql.compile(knex(challenges.name).where({ id }).delete()),
  };
}
