import type { Instant } from '#src/contract/shapes.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { instant, integer, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';
import { oneOf } from '#src/platform/db/template.js';

/** The public part of an RSA key in the format of RFC 7517. */
export interface PublicJwk {
  readonly kty: 'RSA';
  readonly n: string;
  readonly e: string;
}

/** Keys that sign JWTs. Their state is not stored: it follows from their times. */
export const signingKeys = table('signing_keys', {
  kid: text,
  projectId: text,
  alg: word<SigningAlgorithm>(),
  generation: integer,
  publicJwk: nullable(jsonText<PublicJwk>()),
  secret: text,
  signsFrom: instant,
  signsUntil: nullable(instant),
  publishedUntil: nullable(instant),
  createdAt: instant,
});

/** The sealed column of key secrets. */
export const sealedSecrets: SealedColumn = {
  table: signingKeys.name,
  column: 'secret',
  key: 'kid',
  order: ['kid'],
  before: (kid) => `signing_keys|secret|${kid}`,
};

/** A signing key as stored. */
export type SigningKey = ReturnType<typeof signingKeys.decode>;

/** SQL over signing keys. */
export function createSigningKeyStore(sql: Sql) {
  const { row: columns } = signingKeys;
  return {
    ofProjects: (ids: readonly string[]) =>
      sql`select ${columns} from signing_keys where project_id ${oneOf(ids)} order by project_id, alg, generation`,
    find: (kid: string) => sql`select ${columns} from signing_keys where kid = ${kid}`,
    /** Returns no row if another process has created this generation. */
    insert: (key: SigningKey) => sql`${signingKeys.insert(key)} on conflict do nothing returning kid`,
    /** Sets the end of every key of the algorithm except its successor. */
    retire: ({ projectId, alg, kid, signsFrom }: SigningKey, publishedUntil: Instant) => sql`
      update signing_keys set signs_until = ${signsFrom}, published_until = ${publishedUntil}
      where project_id = ${projectId} and alg = ${alg} and signs_until is null and kid <> ${kid}`,
    /** Reverts `retire` after the successor was revoked. */
    keep: ({ projectId, alg, signsFrom }: SigningKey) => sql`
      update signing_keys set signs_until = null, published_until = null
      where project_id = ${projectId} and alg = ${alg} and signs_until = ${signsFrom}`,
    startNow: (kid: string, now: Instant) => sql`update signing_keys set signs_from = ${now} where kid = ${kid}`,
    /** Keys that start or stop signing later than any rotation would set; they were rotated before the clock was set back. */
    ahead: (latest: Instant) =>
      sql`select ${columns} from signing_keys where signs_from > ${latest} or signs_until > ${latest}`,
    update: (kid: string, change: Partial<SigningKey>) =>
      sql`update signing_keys set ${signingKeys.set(change)} where kid = ${kid}`,
    remove: (kid: string) => sql`delete from signing_keys where kid = ${kid}`,
    /** Keys without a successor that have been signing since `since` or longer. */
    old: (since: Instant) => sql`
      select ${columns} from signing_keys where signs_until is null and signs_from <= ${since}
      order by project_id, alg, generation`,
    prune: (now: Instant) => sql`delete from signing_keys where published_until <= ${now}`,
    oldest: (now: Instant) => sql`
      select alg, min(signs_from) as since from signing_keys
      where signs_until is null and signs_from <= ${now} group by alg order by alg`,
  };
}

/** Queries over signing keys. */
export type SigningKeyStore = ReturnType<typeof createSigningKeyStore>;
