import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
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
  return {
    /** Inserts a challenge in place of the previous one. */
    put: (row: ChallengeRow) =>
      sql`${challenges.insert(row)} on conflict (session_id, factor) do update set ${challenges.overwrite}`,
    /** Skips challenges dated in the future: after the clock was set back, their age is unknown. */
    find: (sessionId: string, id: string, now: Instant) => sql`
      select ${challenges.row} from challenges where id = ${id} and session_id = ${sessionId} and expire > ${now}
        and created_at <= ${instantOf(latestPast(millisecondsOf(now)))}`,
    remove: (id: string) => sql`delete from challenges where id = ${id}`,
  };
}

/** Queries over challenges. */
export type ChallengeStore = ReturnType<typeof createChallengeStore>;
