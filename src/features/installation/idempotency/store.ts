import { clockSkewSeconds, idempotencyLimits } from '#src/contract/limits.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { epoch, integer, nullable, table, text } from '#src/platform/db/table.js';

/** Requests with an Idempotency-Key; without a status they are being carried out. */
export const idempotentRequests = table('idempotent_requests', {
  hash: text,
  projectId: text,
  caller: text,
  fingerprint: text,
  claim: text,
  claimedUntil: epoch,
  createdAt: epoch,
  status: nullable(integer),
  answer: nullable(text),
  etag: nullable(text),
  bytes: integer,
});

/** A row of the table. */
export type IdempotentRow = ReturnType<typeof idempotentRequests.decode>;

/** An answer as it is kept. */
export type StoredAnswer = Pick<IdempotentRow, 'status' | 'answer' | 'etag' | 'bytes'>;

/** SQL over requests with an Idempotency-Key. */
export interface IdempotencyStore {
  find(hash: string): Query;
  /** Takes a request that is new, that nobody carries out any more, or that was made before the time; returns its hash then. */
  claim(row: IdempotentRow, madeBefore: number): Query;
  /** Keeps the answer of whoever holds the claim. */
  keep(hash: string, claim: string, answer: StoredAnswer): Query;
  /** Forgets a request that has done nothing. */
  release(hash: string, claim: string): Query;
  /** Deletes what a caller was answered. */
  forget(projectId: string, caller: string): Query;
  /** Deletes what server keys were answered in texts that begin with one of these. */
  forgetAnswers(projectId: string, begins: readonly string[]): Query;
  /** How many requests of server keys a project has, or of all others, and the bytes of all kept answers. */
  usage(projectId: string, isOfKeys: boolean): Query;
  /** How many requests a caller has made since a time, their bytes, and the time of the first. */
  usageOfCaller(projectId: string, caller: string, since: number): Query;
  prune(madeBefore: number, limit: number): Query;
}

/** Creates the SQL over requests with an Idempotency-Key. */
export function createIdempotencyStore(sql: Sql): IdempotencyStore {
  const { knex } = sql;
  const isSqlite = sql.dialect === 'sqlite';
  const { name, columns } = idempotentRequests;
  const find = sql.prepare<{ hash: string }>((build, { hash }) =>
    build(name).select(idempotentRequests.select(sql)).where({ hash }),
  );
  return {
    find: (hash) => find({ hash }),
    claim: (row, madeBefore) => {
      const { claim, claimedUntil, createdAt, fingerprint } = row;
      const set = { claim, claimedUntil, createdAt, fingerprint, status: null, answer: null, etag: null, bytes: 0 };
      const lease = idempotencyLimits.leaseSeconds * 1000;
      const now = claimedUntil - lease;
      return sql.compile(
        knex(name)
          .insert(idempotentRequests.encode(row))
          .onConflict('hash')
          .merge(idempotentRequests.encodeSome(set))
          .where((where) =>
            where.where(`${name}.${columns.createdAt}`, '<', madeBefore).orWhere((open) =>
              open
                .whereNull(`${name}.status`)
                // One that ends later than any lease may was made before the clock was set back, but not one of a moment ago.
                .whereNotBetween(`${name}.${columns.claimedUntil}`, [now, now + lease + clockSkewSeconds * 1000]),
            ),
          )
          .returning('hash'),
      );
    },
    keep: (hash, claim, answer) =>
      sql.compile(knex(name).where({ hash, claim }).whereNull('status').update(idempotentRequests.encodeSome(answer))),
    forget: (projectId, caller) =>
      sql.compile(
        knex(name)
          .where({ [columns.projectId]: projectId, caller })
          .delete(),
      ),
    forgetAnswers: (projectId, begins) =>
      sql.text(
        `delete from ${name} where project_id = ? and caller like 'key:%' and exists (select 1 from
          ${isSqlite ? 'json_each(?)' : 'json_array_elements_text(?::json)'} as given
          where substr(answer, 1, length(given.value)) = given.value)`,
        [projectId, JSON.stringify(begins)],
      ),
    release: (hash, claim) => sql.compile(knex(name).where({ hash, claim }).whereNull('status').delete()),
    // Both read an index only.
    usage: (projectId, isOfKeys) =>
      sql.text(
        `select (select count(*) from ${name} where project_id = ? and caller ${isOfKeys ? '' : 'not '}like 'key:%') as requests,
          (select coalesce(sum(bytes), 0) from ${name} where project_id = ? and bytes > 0) as bytes`,
        [projectId, projectId],
      ),
    // The length of an answer stands before it in its row, and the column of it behind.
    usageOfCaller: (projectId, caller, since) =>
      sql.text(
        `select count(*) as requests, coalesce(sum(octet_length(answer)), 0) as bytes, min(created_at) as oldest
          from ${name} where project_id = ? and caller = ? and created_at >= ${isSqlite ? '?' : 'cast(? as bigint)'}`,
        [projectId, caller, since],
      ),
    prune: (madeBefore, limit) =>
      sql.compile(
        knex(name)
          .whereIn(
            'hash',
            knex(name).select('hash').where(columns.createdAt, '<', madeBefore).orderBy(columns.createdAt).limit(limit),
          )
          .delete(),
      ),
  };
}
