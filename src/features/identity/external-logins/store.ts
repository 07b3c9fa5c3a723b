import type { Instant } from '#src/contract/shapes.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/clock.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, nullable, table, text, word } from '#src/platform/db/table.js';
import type { SealedColumn } from '#src/platform/sealing.js';

/** How a login ends: with a session in the browser, or with a secret that the page of the application redeems. */
export type Flow = 'session' | 'token';

/** Logins that are under way at an identity provider; of what goes through the browser only digests. */
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

/** Where what the protocol has to remember is sealed. */
export const sealedTransactions: SealedColumn = {
  table: loginTransactions.name,
  column: 'data',
  key: 'id',
  order: ['id'],
  before: (id) => `login_transactions|${id}|data`,
};

/** A login that is under way, as stored. */
export type TransactionRow = ReturnType<typeof loginTransactions.decode>;

/** SQL over logins that are under way. */
export function createTransactionStore(sql: Sql) {
  const { knex } = sql;
  const { name } = loginTransactions;
  return {
    insert: (row: TransactionRow): Query => sql.compile(knex(name).insert(loginTransactions.encode(row))),
    /** Ends a login, and returns it exactly once, unless it is over: how old one from before the clock was set back is, nobody knows. */
    take: (projectId: string, provider: string, id: string, now: Instant): Query => {
      const rows = knex(name)
        .where({ id, project_id: projectId, provider })
        .where('expire', '>', now)
        .where('created_at', '<=', instantOf(latestPast(millisecondsOf(now))));
      // Knex leaves `returning` out where SQLite deletes.
      return sql.compile(knex.raw('? returning ?', [rows.delete(), loginTransactions.select(sql)]));
    },
    prune: (before: Instant, max: number): Query =>
      sql.compile(
        knex(name)
          .whereIn('id', knex(name).where('expire', '<', before).limit(max).select('id'))
          .delete(),
      ),
  };
}

/** Answers of identity providers that have counted and could be presented again, such as assertions of SAML. */
export const usedAnswers = table('used_answers', { projectId: text, provider: text, answer: text, expire: instant });

/** SQL over used answers. */
export function createUsedAnswerStore(sql: Sql) {
  const { knex } = sql;
  const { name } = usedAnswers;
  return {
    /** Returns a row exactly when the answer is new; waits for a unit that is about to use it. */
    insert: (row: ReturnType<typeof usedAnswers.decode>): Query =>
      sql.compile(knex(name).insert(usedAnswers.encode(row)).onConflict().ignore().returning('answer')),
    prune: (before: Instant, max: number): Query => {
      const keys = ['project_id', 'provider', 'answer'];
      return sql.compile(
        knex(name)
          .whereIn(keys, knex(name).where('expire', '<', before).limit(max).select(keys))
          .delete(),
      );
    },
  };
}
