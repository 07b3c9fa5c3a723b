// Sealed values as they stand in the database, and as versions before wrote them.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Project } from '#src/contract/project.js';
import { sealedColumns } from '#src/features/index.js';
import type { SealedColumn } from '#src/platform/sealing.js';
import type { TestAppliance } from './appliance.js';

/** The column that holds sealed values under this name. */
export function sealedColumn(table: string, column: string): SealedColumn {
  const found = sealedColumns.find((one) => one.table === table && one.column === column);
  if (found === undefined) throw new Error(`${table}.${column} holds no sealed values`);
  return found;
}

/** Opens a value of a row. */
export function openSealed(
  { appliance }: Pick<TestAppliance, 'appliance'>,
  { id, dataKey }: Project,
  [table, column, row]: readonly [table: string, column: string, row: string],
  sealed: unknown,
): string {
  return appliance.runtime.sealing.open(id, dataKey, { column: sealedColumn(table, column), row }, String(sealed));
}

/** Seals as the first version did, which left the row out of most values. */
export function sealAsBefore(
  { appliance }: TestAppliance,
  { id, dataKey }: Project,
  [column, row]: readonly [column: SealedColumn, row: string],
  value: string,
): string {
  const master = Buffer.from(appliance.runtime.config.masterKey?.reveal() ?? '', 'base64url');
  const wrapKey = Buffer.from(hkdfSync('sha256', master, '', 'svc/v1/wrap', 32));
  const wrapped = Buffer.from(dataKey.slice('v1.'.length), 'base64url');
  const unwrap = createDecipheriv('aes-256-gcm', wrapKey, wrapped.subarray(0, 12));
  unwrap.setAAD(Buffer.from(`project:${id}`)).setAuthTag(wrapped.subarray(12, 28));
  const key = Buffer.concat([unwrap.update(wrapped.subarray(28)), unwrap.final()]);
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(`${id}|${column.before(row)}`));
  const text = Buffer.concat([cipher.update(value), cipher.final()]);
  return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')}`;
}
