import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, table, text } from '#src/platform/db/table.js';
import type { SealedColumn } from '#src/platform/sealing.js';

/** Our keys towards SAML providers, a pair of them for each: one signs requests, for the other one assertions are encrypted. */
export const samlKeys = table('saml_keys', {
  projectId: text,
  provider: text,
  secrets: text,
  signingCertificate: text,
  encryptionCertificate: text,
  createdAt: instant,
});

/** Where the private keys are sealed. */
export const sealedSamlKeys: SealedColumn = {
  table: samlKeys.name,
  column: 'secrets',
  key: 'provider',
  order: ['project_id', 'provider'],
  before: (provider) => `saml_keys|${provider}|secrets`,
};

/** The keys of a provider as stored. */
export type SamlKeysRow = ReturnType<typeof samlKeys.decode>;

/** SQL over our keys. */
export function createOwnKeyStore(sql: Sql) {
  const { knex } = sql;
  const { name } = samlKeys;
  return {
    find: sql.prepare<{ projectId: string; provider: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, provider: p.provider }).select(samlKeys.select(sql)),
    ),
    /** Returns a row exactly when the provider had none. */
    insert: (row: SamlKeysRow): Query =>
      sql.compile(knex(name).insert(samlKeys.encode(row)).onConflict().ignore().returning('provider')),
  };
}
