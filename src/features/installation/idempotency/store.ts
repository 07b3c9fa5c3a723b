import { clockSkewSeconds, idempotencyLimits } from '#src/contract/limits.js';
import type { BoundColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { epoch, integer, nullable, table, text } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';
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

/** Creates the SQL over requests with an Idempotency-Key. */
export function createIdempotencyStore(sql: Sql) {
  return {
    find: (hash: string) => sql`select ${idempotentRequests.row} from idempotent_requests where hash = ${hash}`,
    /** Stores the response if the claim is still valid. */
    keep: (hash: string, id: string, answer: StoredAnswer) => sql`
      update idempotent_requests set ${idempotentRequests.set(answer)}
      where hash = ${hash} and claim = ${id} and status is null`,
    /** Deletes a request that changed nothing. */
    release: (hash: string, id: string) =>
      sql`delete from idempotent_requests where hash = ${hash} and claim = ${id} and status is null`,
    /** Deletes the responses to a caller. */
    forget: (projectId: string, caller: string) =>
      sql`delete from idempotent_requests where project_id = ${projectId} and caller = ${caller}`,
    prune: (madeBefore: number, limit: number) => sql`
      delete from idempotent_requests where hash in
        (select hash from idempotent_requests where created_at < ${madeBefore} order by created_at limit ${limit})`,
    ...bind(sql, { claim, forgetAnswers, usage, usageOfCaller }),
  };
}

/** SQL over requests with an Idempotency-Key. */
export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

/** Claims a request if it is new, if its claim has expired, or if it was made before the time. Returns its hash if claimed. */
function claim(sql: Sql, row: IdempotentRow, madeBefore: number): Query {
  const lease = idempotencyLimits.leaseSeconds * 1000;
  const now = row.claimedUntil - lease;
  // A claim that ends later than any lease was made before the clock was set back. Allows for clock skew.
  return sql`
    ${idempotentRequests.insert(row)} on conflict (hash) do update set ${idempotentRequests.overwrite}
    where idempotent_requests.created_at < ${madeBefore} or (idempotent_requests.status is null and
      idempotent_requests.claimed_until not between ${now} and ${now + lease + clockSkewSeconds * 1000})
    returning hash`;
}

/** Deletes responses to server keys that start with one of these texts. */
function forgetAnswers(sql: Sql, projectId: string, begins: readonly string[]): Query {
  const given = raw(sql.words.eachTextInJson('given', '?'), [JSON.stringify(begins)]);
  return sql`
    delete from idempotent_requests where project_id = ${projectId} and caller like 'key:%'
      and exists (select 1 from ${given} where substr(answer, 1, length(given.value)) = given.value)`;
}

/** Number of requests of the project's server keys, or of all other callers, and the bytes of all stored responses. */
function usage(sql: Sql, projectId: string, isOfKeys: boolean): Query {
  // Both subqueries use covering indexes.
  return sql`
    select (select count(*) from idempotent_requests
        where project_id = ${projectId} and caller ${!isOfKeys && raw('not ')}like 'key:%') as requests,
      (select coalesce(sum(bytes), 0) from idempotent_requests where project_id = ${projectId} and bytes > 0) as bytes`;
}

/** Number of a caller's requests since a time, the bytes of their responses, and the time of the first. */
function usageOfCaller(sql: Sql, projectId: string, caller: string, since: number): Query {
  // Uses the length of `answer`, which the row stores before the text. The column `bytes` is behind it, so reading that would read the
  // text too.
  return sql`
    select count(*) as requests, coalesce(sum(octet_length(answer)), 0) as bytes, min(created_at) as oldest
    from idempotent_requests
    where project_id = ${projectId} and caller = ${caller} and created_at >= ${raw(sql.words.typed('integer'), [since])}`;
}
