import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { instant, table, text } from '#src/platform/db/table.js';

/** Our keys for SAML providers, two for each: one signs requests, the other decrypts assertions. */
export const samlKeys = table('saml_keys', {
  projectId: text,
  provider: text,
  secrets: text,
  signingCertificate: text,
  encryptionCertificate: text,
  createdAt: instant,
});

/** The sealed column of private keys. */
export const sealedSamlKeys: SealedColumn = {
  table: samlKeys.name,
  column: 'secrets',
  key: 'provider',
  order: ['project_id', 'provider'],
  before: (provider) => `saml_keys|${provider}|secrets`,
};

/** SQL over our keys. */
export function createOwnKeyStore(sql: Sql) {
  return {
    find: ({ projectId, provider }: { projectId: string; provider: string }) =>
      sql`select ${samlKeys.row} from saml_keys where project_id = ${projectId} and provider = ${provider}`,
    /** Returns no row if the provider already has keys. */
    insert: (row: ReturnType<typeof samlKeys.decode>) =>
      sql`${samlKeys.insert(row)} on conflict do nothing returning provider`,
  };
}
