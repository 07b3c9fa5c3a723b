import type { Instant } from '#src/contract/shapes.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, integer, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';

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
  const { knex } = sql;
  const { name } = signingKeys;
  const byAge = ['project_id', 'alg', 'generation'];
  const withoutSuccessor = (since: Instant) => knex(name).whereNull('signs_until').where('signs_from', '<=', since);
  return {
    ofProjects: sql.prepare<{ ids: string }>((k, p) =>
      k(name).where(sql.isOneOf('project_id', p.ids)).orderBy(byAge).select(signingKeys.select(sql)),
    ),
    find: (kid: string): Query => sql.compile(knex(name).where({ kid }).select(signingKeys.select(sql))),
    /** Returns no row if another process has created this generation. */
    insert: (key: SigningKey): Query =>
      sql.compile(knex(name).insert(signingKeys.encode(key)).onConflict().ignore().returning('kid')),
    /** Sets the end of every key of the algorithm except its successor. */
    retire: ({ projectId, alg, kid, signsFrom }: SigningKey, publishedUntil: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId, alg })
          .whereNull('signs_until')
          .whereNot({ kid })
          .update({ signs_until: signsFrom, published_until: publishedUntil }),
      ),
    /** Reverts `retire` after the successor was revoked. */
    keep: ({ projectId, alg, signsFrom }: SigningKey): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId, alg, signs_until: signsFrom })
          .update({ signs_until: null, published_until: null }),
      ),
    startNow: (kid: string, now: Instant): Query => sql.compile(knex(name).where({ kid }).update({ signs_from: now })),
    /** Keys that start or stop signing later than any rotation would set; they were rotated before the clock was set back. */
    ahead: (latest: Instant): Query =>
      sql.compile(
        knex(name).where('signs_from', '>', latest).orWhere('signs_until', '>', latest).select(signingKeys.select(sql)),
      ),
    update: (kid: string, change: Partial<SigningKey>): Query =>
      sql.compile(knex(name).where({ kid }).update(signingKeys.encodeSome(change))),
    remove: (kid: string): Query => sql.compile(knex(name).where({ kid }).delete()),
    /** Keys without a successor that have been signing since `since` or longer. */
    old: (since: Instant): Query => sql.compile(withoutSuccessor(since).orderBy(byAge).select(signingKeys.select(sql))),
    prune: (now: Instant): Query => sql.compile(knex(name).where('published_until', '<=', now).delete()),
    oldest: (now: Instant): Query =>
      sql.compile(withoutSuccessor(now).groupBy('alg').orderBy('alg').select('alg').min({ since: 'signs_from' })),
  };
}

/** Queries over signing keys. */
export type SigningKeyStore = ReturnType<typeof createSigningKeyStore>;
