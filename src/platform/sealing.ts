import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { Random } from './random.js';

/** A column that holds sealed values. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The column that identifies a row within its project. */
  readonly key: string;
  /** The primary key, in its order. */
  readonly order: readonly string[];
  /** What values of the first version are bound to: the row itself is no part of it. */
  readonly before: (row: string) => string;
}

/** A sealed value stands in one row of one column; moved anywhere else it does not open. */
export interface SealedAad {
  readonly column: SealedColumn;
  /** The value of the column's `key`. */
  readonly row: string;
}

/** Where a value stands that does not open. */
interface UnreadableValue {
  readonly table: string;
  readonly column: string;
  readonly row: string;
}

/** Encrypts values at rest (AES-256-GCM, random 96-bit nonces, the row's identity as additional data). */
export interface Sealing {
  /** A fresh data key for a project, wrapped by the master key. */
  newDataKey(projectId: string): string;
  /** The same data key, wrapped so that it opens bound values only, as a new one does from the start; undefined, and reported, where it does not open. */
  bindDataKey(projectId: string, wrappedKey: string): string | undefined;
  /** Seals with a project's wrapped data key, for one place. */
  seal(projectId: string, wrappedKey: string, aad: SealedAad, value: string): string;
  /** Opens what `seal` made, and with a data key of the version before what that made; throws when key, place or text do not fit. */
  open(projectId: string, wrappedKey: string, aad: SealedAad, sealed: string): string;
  /** The same where one broken row must not break more than itself: undefined, and reported, where it does not open. */
  tryOpen(projectId: string, wrappedKey: string, aad: SealedAad, sealed: string): string | undefined;
  /** The key of one object of the file store, derived from the project's data key and the object's own key. */
  objectKey(projectId: string, wrappedKey: string, object: string): Buffer;
  /** A value that only this master key gives; stored once to notice a wrong key at start. */
  readonly keyCheck: string;
  /** HMAC of an audit row by this installation. */
  auditMac(text: string): string;
  /** A key for HMACs of a given purpose, derived from the master key. */
  derive(purpose: string): Buffer;
}

/** Labels of derived keys, and values and wrapped data keys of the version before. */
const version = 'v1';
/** Values whose additional data names table, column, project and row, and data keys that open no others. */
const boundVersion = 'v2';
/** How values begin that are not bound to their row yet, and wrapped data keys that open such values. */
export const unboundPrefix = `${version}.`;

/** Derives every key from the master key of 32 bytes (HKDF-SHA-256, one label each). */
export function createSealing(
  masterKey: Buffer,
  random: Random,
  report: (projectId: string, place: UnreadableValue) => void = () => {},
): Sealing {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', masterKey, '', `svc/${version}/${purpose}`, 32));
  const wrapKey = derive('wrap');
  const auditKey = derive('audit');
  const dataKeys = new Map<string, Buffer>();

  const encrypt = (key: Buffer, form: string, aad: string, value: Buffer): string => {
    const nonce = random.bytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
    const text = Buffer.concat([cipher.update(value), cipher.final()]);
    return [form, Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')].join('.');
  };
  const decrypt = (key: Buffer, form: string, aad: string, sealed: string): Buffer => {
    const [seen, body] = sealed.split('.');
    if (seen !== form || body === undefined) throw new Error('sealed value of unknown version');
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
      .setAAD(Buffer.from(aad))
      .setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
  };
  /** The form of the wrapped key is part of its additional data: who writes to the database cannot turn one into the other. */
  const wrap = (projectId: string, key: Buffer) =>
    encrypt(wrapKey, boundVersion, `project:${projectId}|${boundVersion}`, key);
  const dataKey = (projectId: string, wrapped: string): Buffer => {
    const cached = dataKeys.get(wrapped);
    if (cached !== undefined) return cached;
    const key = isUnbound(wrapped)
      ? decrypt(wrapKey, version, `project:${projectId}`, wrapped)
      : decrypt(wrapKey, boundVersion, `project:${projectId}|${boundVersion}`, wrapped);
    if (dataKeys.size > 1000) dataKeys.clear();
    dataKeys.set(wrapped, key);
    return key;
  };
  const sealing: Sealing = {
    newDataKey: (projectId) => wrap(projectId, random.bytes(32)),
    bindDataKey: (projectId, wrapped) => {
      try {
        return wrap(projectId, dataKey(projectId, wrapped));
      } catch {
        report(projectId, { table: 'projects', column: 'data_key', row: projectId });
        return undefined;
      }
    },
    seal: (projectId, wrapped, aad, value) =>
      encrypt(dataKey(projectId, wrapped), boundVersion, boundTo(projectId, aad), Buffer.from(value)),
    open: (projectId, wrapped, aad, sealed) => {
      const key = dataKey(projectId, wrapped);
      const opened =
        isUnbound(wrapped) && isUnbound(sealed)
          ? decrypt(key, version, `${projectId}|${aad.column.before(aad.row)}`, sealed)
          : decrypt(key, boundVersion, boundTo(projectId, aad), sealed);
      return opened.toString('utf8');
    },
    tryOpen: (projectId, wrapped, aad, sealed) => {
      try {
        return sealing.open(projectId, wrapped, aad, sealed);
      } catch {
        report(projectId, { table: aad.column.table, column: aad.column.column, row: aad.row });
        return undefined;
      }
    },
    objectKey: (projectId, wrapped, object) =>
      Buffer.from(
        hkdfSync('sha256', dataKey(projectId, wrapped), '', `svc/${version}/file|${projectId}|${object}`, 32),
      ),
    keyCheck: derive('check').toString('base64url'),
    auditMac: (text) => createHmac('sha256', auditKey).update(text).digest('base64url'),
    derive,
  };
  return sealing;
}

function isUnbound(sealed: string): boolean {
  return sealed.startsWith(unboundPrefix);
}

function boundTo(projectId: string, { column, row }: SealedAad): string {
  return [column.table, column.column, projectId, row].join('|');
}
