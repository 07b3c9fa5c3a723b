import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { instant, nullable, table, text, word } from '#src/platform/db/table.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';

/** The end of a login: a session in the browser, or a secret that the page of the application redeems. */
export type Flow = 'session' | 'token';

/** Pending logins at identity providers. Secrets that pass through the browser are stored as digests only. */
export const loginTransactions = table('login_transactions', {
  id: text,
  projectId: text,
  provider: text,
  flow: word<Flow>(),
  success: text,
  failure: text,
  userId: nullable(text),
  sessionId: nullable(text),
  bindingId: nullable(text),
  bindingDigest: nullable(text),
  data: text,
  expire: instant,
  createdAt: instant,
});

/** The sealed column of protocol state. */
export const sealedTransactions: SealedColumn = {
  table: loginTransactions.name,
  column: 'data',
  key: 'id',
  order: ['id'],
  before: (id) => `login_transactions|${id}|data`,
};

/** A pending login as stored. */
export type TransactionRow = ReturnType<typeof loginTransactions.decode>;

/** Used responses of identity providers that could be replayed, such as SAML assertions. */
export const usedAnswers = table('used_answers', { projectId: text, provider: text, answer: text, expire: instant });

/** SQL over pending logins and used responses. */
export function createLoginTransactionStore(sql: Sql) {
  return {
    insert: (row: TransactionRow) => sql`${loginTransactions.insert(row)}`,
    /**
     * Deletes a pending login and returns it, so that it is used only once. Skips expired logins and those dated in the future: after the
     * clock was set back, their age is unknown.
     */
    take: (projectId: string, provider: string, id: string, now: Instant) => sql`
      delete from login_transactions
      where id = ${id} and project_id = ${projectId} and provider = ${provider} and expire > ${now}
        and created_at <= ${instantOf(latestPast(millisecondsOf(now)))}
      returning ${loginTransactions.row}`,
    prune: (before: Instant, max: number) => sql`
      delete from login_transactions
      where id in (select id from login_transactions where expire < ${before} limit ${max})`,
    /** Returns no row if the response was used before. Waits for a concurrent insert of the same response. */
    useAnswer: (row: ReturnType<typeof usedAnswers.decode>) =>
      sql`${usedAnswers.insert(row)} on conflict do nothing returning answer`,
    pruneAnswers: (before: Instant, max: number) => sql`
      delete from used_answers where (project_id, provider, answer) in
        (select project_id, provider, answer from used_answers where expire < ${before} limit ${max})`,
  };
}
