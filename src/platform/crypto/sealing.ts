import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { bind } from '../runtime/bind.js';
import type { Random } from './random.js';

/** A column with sealed values. */
export interface BoundColumn {
  readonly table: string;
  readonly column: string;
  /** Additional data of version 1 values, which does not always identify the row. Absent if the column has no such values. */
  readonly before?: (row: string) => string;
}

/** A column that may contain version 1 values, which a job seals again. */
export interface SealedColumn extends BoundColumn {
  /** The column that identifies a row within its project. */
  readonly key: string;
  /** The primary key, in its order. */
  readonly order: readonly string[];
  readonly before: (row: string) => string;
}

/** The place of a sealed value: one row of one column. The value cannot be opened anywhere else. */
export interface SealedAad {
  readonly column: BoundColumn;
  /** Identifies the row within its project, such as the value of the column's `key`. */
  readonly row: string;
}

/** The place of a value that cannot be opened. */
interface UnreadableValue {
  readonly table: string;
  readonly column: string;
  readonly row: string;
}

/** Encrypts values at rest (AES-256-GCM, random 96-bit nonces, the row's identity as additional data). */
export interface Sealing {
  /** A new data key for a project, wrapped by the master key. */
  newDataKey(projectId: string): string;
  /**
   * The same data key, wrapped so that it opens bound values only, as new ones do from the start. Undefined, and reported, if it cannot be
   * opened.
   */
  bindDataKey(projectId: string, wrappedKey: string): string | undefined;
  /** Seals a value with a project's wrapped data key, for one place. */
  seal(projectId: string, wrappedKey: string, aad: SealedAad, value: string): string;
  /** Opens a sealed value. With a version 1 data key it also opens version 1 values. Throws if key, place or text do not match. */
  open(projectId: string, wrappedKey: string, aad: SealedAad, sealed: string): string;
  /** Same as `open`, but one broken row must not break others: undefined, and reported, if it cannot be opened. */
  tryOpen(projectId: string, wrappedKey: string, aad: SealedAad, sealed: string): string | undefined;
  /** The key of one object of the file store, derived from the project's data key and the object's own key. */
  objectKey(projectId: string, wrappedKey: string, object: string): Buffer;
  /** A value that depends only on the master key; stored once to detect a wrong key at start. */
  readonly keyCheck: string;
  /** HMAC of an audit row by this installation. */
  auditMac(text: string): string;
  /** A key for HMACs of a given purpose, derived from the master key. */
  derive(purpose: string): Buffer;
}

/** Version in the labels of derived keys, and of the previous values and wrapped data keys. */
const version = 'v1';
/** Version of values whose additional data includes table, column, project and row, and of data keys that open only such values. */
const boundVersion = 'v2';
/** Prefix of values that are not bound to their row yet, and of wrapped data keys that open such values. */
export const unboundPrefix = `${version}.`;

interface Deps {
  readonly random: Random;
  readonly report: (projectId: string, place: UnreadableValue) => void;
  readonly wrapKey: Buffer;
  readonly auditKey: Buffer;
  /** Data keys by their wrapped form. */
  readonly dataKeys: Map<string, Buffer>;
}

/** Derives every key from the master key of 32 bytes (HKDF-SHA-256, one label each). */
export function createSealing(masterKey: Buffer, random: Random, report: Deps['report'] = () => {}): Sealing {
  const derive = (purpose: string) => hkdf(masterKey, purpose);
  const deps: Deps = { random, report, wrapKey: derive('wrap'), auditKey: derive('audit'), dataKeys: new Map() };
  return {
    ...bind(deps, { newDataKey, bindDataKey, seal, open, tryOpen, objectKey, auditMac }),
    keyCheck: derive('check').toString('base64url'),
    derive,
  };
}

function hkdf(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `svc/${version}/${purpose}`, 32));
}

function newDataKey(deps: Deps, projectId: string): string {
  return wrap(deps, projectId, deps.random.bytes(32));
}

function bindDataKey(deps: Deps, projectId: string, wrapped: string): string | undefined {
  try {
    return wrap(deps, projectId, dataKey(deps, projectId, wrapped));
  } catch {
    deps.report(projectId, { table: 'projects', column: 'data_key', row: projectId });
    return undefined;
  }
}

/** The version of the wrapped key is part of its additional data, so that an attacker with database access cannot turn one into the other. */
function wrap({ random, wrapKey }: Deps, projectId: string, key: Buffer): string {
  return encrypt(random, wrapKey, `project:${projectId}|${boundVersion}`, key);
}

function dataKey({ wrapKey, dataKeys }: Deps, projectId: string, wrapped: string): Buffer {
  const cached = dataKeys.get(wrapped);
  if (cached !== undefined) return cached;
  const key = isUnbound(wrapped)
    ? decrypt(wrapKey, version, `project:${projectId}`, wrapped)
    : decrypt(wrapKey, boundVersion, `project:${projectId}|${boundVersion}`, wrapped);
  if (dataKeys.size > 1000) dataKeys.clear();
  dataKeys.set(wrapped, key);
  return key;
}

function seal(deps: Deps, projectId: string, wrapped: string, aad: SealedAad, value: string): string {
  return encrypt(deps.random, dataKey(deps, projectId, wrapped), boundTo(projectId, aad), Buffer.from(value));
}

function open(deps: Deps, projectId: string, wrapped: string, aad: SealedAad, sealed: string): string {
  const key = dataKey(deps, projectId, wrapped);
  const { before } = aad.column;
  const opened =
    before !== undefined && isUnbound(wrapped) && isUnbound(sealed)
      ? decrypt(key, version, `${projectId}|${before(aad.row)}`, sealed)
      : decrypt(key, boundVersion, boundTo(projectId, aad), sealed);
  return opened.toString('utf8');
}

function tryOpen(deps: Deps, projectId: string, wrapped: string, aad: SealedAad, sealed: string): string | undefined {
  try {
    return open(deps, projectId, wrapped, aad, sealed);
  } catch {
    deps.report(projectId, { table: aad.column.table, column: aad.column.column, row: aad.row });
    return undefined;
  }
}

function encrypt(random: Random, key: Buffer, aad: string, value: Buffer): string {
  const nonce = random.bytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  const text = Buffer.concat([cipher.update(value), cipher.final()]);
  return [boundVersion, Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')].join('.');
}

function decrypt(key: Buffer, form: string, aad: string, sealed: string): Buffer {
  const [seen, body] = sealed.split('.');
  if (seen !== form || body === undefined) throw new Error('sealed value of unknown version');
  const bytes = Buffer.from(body, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
    .setAAD(Buffer.from(aad))
    .setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
}

function objectKey(deps: Deps, projectId: string, wrapped: string, object: string): Buffer {
  return hkdf(dataKey(deps, projectId, wrapped), `file|${projectId}|${object}`);
}

function auditMac({ auditKey }: Deps, text: string): string {
  return createHmac('sha256', auditKey).update(text).digest('base64url');
}

/** Checks if a stored text is sealed, in a column that also contains JSON: no JSON starts like this. */
export function isSealed(text: string): boolean {
  return text.startsWith(`${boundVersion}.`);
}

function isUnbound(sealed: string): boolean {
  return sealed.startsWith(unboundPrefix);
}

function boundTo(projectId: string, { column, row }: SealedAad): string {
  return [column.table, column.column, projectId, row].join('|');
}
