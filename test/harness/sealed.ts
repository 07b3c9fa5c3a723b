// Sealed values as they stand in the database, and as versions before wrote them.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Project } from '#src/contract/project.js';
import { sealedColumns } from '#src/features/index.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { TestAppliance } from './appliance.js';
import { runSql } from './database.js';

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
  return encrypt(unwrapped(appliance, id, dataKey), `${id}|${column.before(row)}`, Buffer.from(value));
}

/** Gives the project of a server the data key in the form of the first version, as it stands with a project of that time. */
export async function keyAsBefore(target: TestAppliance): Promise<void> {
  const { appliance, project } = target;
  const key = unwrapped(appliance, project.id, project.dataKey);
  const dataKey = encrypt(wrapKeyOf(appliance), `project:${project.id}`, key);
  await runSql(target, 'update projects set data_key = ? where id = ?', [dataKey, project.id]);
  // Processes have copies of projects.
  target.clock.advance(1000);
}

function wrapKeyOf({ runtime }: TestAppliance['appliance']): Buffer {
  const master = Buffer.from(runtime.config.masterKey?.reveal() ?? '', 'base64url');
  return Buffer.from(hkdfSync('sha256', master, '', 'svc/v1/wrap', 32));
}

function unwrapped(appliance: TestAppliance['appliance'], id: string, dataKey: string): Buffer {
  const [form, body = ''] = dataKey.split('.');
  const wrapped = Buffer.from(body, 'base64url');
  const unwrap = createDecipheriv('aes-256-gcm', wrapKeyOf(appliance), wrapped.subarray(0, 12));
  unwrap.setAAD(Buffer.from(form === 'v1' ? `project:${id}` : `project:${id}|v2`)).setAuthTag(wrapped.subarray(12, 28));
  return Buffer.concat([unwrap.update(wrapped.subarray(28)), unwrap.final()]);
}

function encrypt(key: Buffer, aad: string, value: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  const text = Buffer.concat([cipher.update(value), cipher.final()]);
  return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')}`;
}
