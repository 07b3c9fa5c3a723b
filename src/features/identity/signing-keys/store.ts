import type { Instant } from '#src/contract/shapes.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, integer, json, nullable, table, text, word } from '#src/platform/db/table.js';
import type { SealedColumn } from '#src/platform/sealing.js';

/** The public half of an RSA key as RFC 7517 writes it. */
export interface PublicJwk {
  readonly kty: 'RSA';
  readonly n: string;
  readonly e: string;
}

/** Keys that sign JWTs. Nobody moves them from state to state: their times do. */
export const signingKeys = table('signing_keys', {
  kid: text,
  projectId: text,
  alg: word<SigningAlgorithm>(),
  generation: integer,
  publicJwk: nullable(json<PublicJwk>()),
  secret: text,
  signsFrom: instant,
  signsUntil: nullable(instant),
  publishedUntil: nullable(instant),
  createdAt: instant,
});

/** Where secrets are sealed. */
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
  return {
    ofProjects: sql.prepare<{ ids: string }>((k, p) =>
      k(name)
        .where(sql.isOneOf('project_id', p.ids))
        .orderBy(['project_id', 'alg', 'generation'])
        .select(signingKeys.select(sql)),
    ),
    find: (kid: string): Query => sql.compile(knex(name).where({ kid }).select(signingKeys.select(sql))),
    /** Returns a row exactly when no other process has made this generation. */
    insert: (key: SigningKey): Query =>
      sql.compile(knex(name).insert(signingKeys.encode(key)).onConflict().ignore().returning('kid')),
    /** Ends the time of every key of the algorithm but its successor. */
    retire: ({ projectId, alg, kid, signsFrom }: SigningKey, publishedUntil: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId, alg })
          .whereNull('signs_until')
          .whereNot({ kid })
          .update({ signs_until: signsFrom, published_until: publishedUntil }),
      ),
    /** Takes that back, as the successor will not come. */
    keep: ({ projectId, alg, signsFrom }: SigningKey): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId, alg, signs_until: signsFrom })
          .update({ signs_until: null, published_until: null }),
      ),
    startNow: (kid: string, now: Instant): Query => sql.compile(knex(name).where({ kid }).update({ signs_from: now })),
    /** Keys that begin to sign, or end, later than a rotation puts it: it was before the clock was set back. */
    ahead: (latest: Instant): Query =>
      sql.compile(
        knex(name).where('signs_from', '>', latest).orWhere('signs_until', '>', latest).select(signingKeys.select(sql)),
      ),
    update: (kid: string, change: Partial<SigningKey>): Query =>
      sql.compile(knex(name).where({ kid }).update(signingKeys.encodeSome(change))),
    remove: (kid: string): Query => sql.compile(knex(name).where({ kid }).delete()),
    /** Keys without a successor that have signed since then or longer. */
    old: (since: Instant): Query =>
      sql.compile(
        knex(name)
          .whereNull('signs_until')
          .where('signs_from', '<=', since)
          .orderBy(['project_id', 'alg', 'generation'])
          .select(signingKeys.select(sql)),
      ),
    prune: (now: Instant): Query => sql.compile(knex(name).where('published_until', '<=', now).delete()),
    oldest: (now: Instant): Query =>
      sql.compile(
        knex(name)
          .whereNull('signs_until')
          .where('signs_from', '<=', now)
          .groupBy('alg')
          .orderBy('alg')
          .select('alg')
          .min({ since: 'signs_from' }),
      ),
  };
}

/** The store of signing keys. */
export type SigningKeyStore = ReturnType<typeof createSigningKeyStore>;
