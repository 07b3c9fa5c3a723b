import { clockSkewSeconds, idempotencyLimits } from '#src/contract/limits.js';
import type { BoundColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { epoch, integer, nullable, table, text } from '#src/platform/db/table.js';
import { bind } from '#src/platform/runtime/bind.js';

/** Requests with an Idempotency-Key. The status is null while a request is running. */
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

/** The column of answers that are sealed; the others are JSON. */
export const sealedAnswers: BoundColumn = { table: idempotentRequests.name, column: 'answer' };

/** A row of the table. */
export type IdempotentRow = ReturnType<typeof idempotentRequests.decode>;

/** A response as stored. */
export type StoredAnswer = Pick<IdempotentRow, 'status' | 'answer' | 'etag' | 'bytes'>;

/** SQL over requests with an Idempotency-Key. */
export interface IdempotencyStore {
  find(hash: string): Query;
  /** Claims a request if it is new, if its claim has expired, or if it was made before the time. Returns its hash if claimed. */
  claim(row: IdempotentRow, madeBefore: number): Query;
  /** Stores the response if the claim is still valid. */
  keep(hash: string, claim: string, answer: StoredAnswer): Query;
  /** Deletes a request that changed nothing. */
  release(hash: string, claim: string): Query;
  /** Deletes the responses to a caller. */
  forget(projectId: string, caller: string): Query;
  /** Deletes responses to server keys that start with one of these texts. */
  forgetAnswers(projectId: string, begins: readonly string[]): Query;
  /** Number of requests of the project's server keys, or of all other callers, and the bytes of all stored responses. */
  usage(projectId: string, isOfKeys: boolean): Query;
  /** Number of a caller's requests since a time, the bytes of their responses, and the time of the first. */
  usageOfCaller(projectId: string, caller: string, since: number): Query;
  prune(madeBefore: number, limit: number): Query;
}

const { name, columns } = idempotentRequests;

/** Creates the SQL over requests with an Idempotency-Key. */
export function createIdempotencyStore(sql: Sql): IdempotencyStore {
  const find = sql.prepare<{ hash: string }>((build, { hash }) =>
    build(name).select(idempotentRequests.select(sql)).where({ hash }),
  );
  return {
    find: (hash) => find({ hash }),
    ...bind(sql, { claim, keep, release, forget, forgetAnswers, usage, usageOfCaller, prune }),
  };
}

function claim({ compile, knex }: Sql, row: IdempotentRow, madeBefore: number): Query {
  const { claim: id, claimedUntil, createdAt, fingerprint } = row;
  const set = { claim: id, claimedUntil, createdAt, fingerprint, status: null, answer: null, etag: null, bytes: 0 };
  const lease = idempotencyLimits.leaseSeconds * 1000;
  const now = claimedUntil - lease;
  return compile(
    knex(name)
      .insert(idempotentRequests.encode(row))
      .onConflict('hash')
      .merge(idempotentRequests.encodeSome(set))
      .where((where) =>
        where.where(`${name}.${columns.createdAt}`, '<', madeBefore).orWhere((open) =>
          open
            .whereNull(`${name}.status`)
            // A claim that ends later than any lease was made before the clock was set back. Allows for clock skew.
            .whereNotBetween(`${name}.${columns.claimedUntil}`, [now, now + lease + clockSkewSeconds * 1000]),
        ),
      )
      .returning('hash'),
  );
}

function keep(sql: Sql, hash: string, claimId: string, answer: StoredAnswer): Query {
  return sql.compile(unfinished(sql, hash, claimId).update(idempotentRequests.encodeSome(answer)));
}

function unfinished({ knex }: Sql, hash: string, claimId: string) {
  return knex(name).where({ hash, claim: claimId }).whereNull('status');
}

function release(sql: Sql, hash: string, claimId: string): Query {
  return sql.compile(unfinished(sql, hash, claimId).delete());
}

function forget({ compile, knex }: Sql, projectId: string, caller: string): Query {
  const ofCaller = { [columns.projectId]: projectId, caller };
  return compile(knex(name).where(ofCaller).delete());
}

function forgetAnswers(sql: Sql, projectId: string, begins: readonly string[]): Query {
  return sql.text(
    `delete from ${name} where project_id = ? and caller like 'key:%' and exists (select 1 from
          ${sql.words.eachTextInJson('given', '?')}
          where substr(answer, 1, length(given.value)) = given.value)`,
    [projectId, JSON.stringify(begins)],
  );
}

function usage(sql: Sql, projectId: string, isOfKeys: boolean): Query {
  // Both subqueries use covering indexes.
  return sql.text(
    `select (select count(*) from ${name} where project_id = ? and caller ${isOfKeys ? '' : 'not '}like 'key:%') as requests,
          (select coalesce(sum(bytes), 0) from ${name} where project_id = ? and bytes > 0) as bytes`,
    [projectId, projectId],
  );
}

function usageOfCaller(sql: Sql, projectId: string, caller: string, since: number): Query {
  // Uses the length of `answer`, which the row stores before the text. The column `bytes` is behind it, so reading that would read the
  // text too.
  return sql.text(
    `select count(*) as requests, coalesce(sum(octet_length(answer)), 0) as bytes, min(created_at) as oldest
          from ${name} where project_id = ? and caller = ? and created_at >= ${sql.words.typed('integer')}`,
    [projectId, caller, since],
  );
}

function prune({ compile, knex }: Sql, madeBefore: number, limit: number): Query {
  const { createdAt } = columns;
  const old = knex(name).select('hash').where(createdAt, '<', madeBefore).orderBy(createdAt).limit(limit);
  return compile(knex(name).whereIn('hash', old).delete());
}
