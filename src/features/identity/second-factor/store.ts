import type { Instant } from '#src/contract/shapes.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/clock.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, table, text } from '#src/platform/db/table.js';
import type { SecondFactor } from '../factors/index.js';

/** Challenges of sessions, one for each factor. */
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
    /** Puts a challenge in the place of the one before it. */
    put: (row: ChallengeRow): Query =>
      sql.compile(knex(challenges.name).insert(challenges.encode(row)).onConflict(['session_id', 'factor']).merge()),
    find: (sessionId: string, id: string, now: Instant): Query =>
      sql.compile(
        knex(challenges.name)
          .where({ id, session_id: sessionId })
          .andWhere('expire', '>', now)
          // From before the clock was set back: how long ago, nobody knows.
          .andWhere('created_at', '<=', instantOf(latestPast(millisecondsOf(now))))
          .select(challenges.select(sql)),
      ),
    remove: (id: string): Query => sql.compile(knex(challenges.name).where({ id }).delete()),
  };
}
