import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { Random } from './random.js';

/** Encrypts values at rest (AES-256-GCM, random 96-bit nonces, the row's identity as additional data). */
export interface Sealing {
  /** A fresh data key for a project, wrapped by the master key. */
  newDataKey(projectId: string): string;
  /** Seals with a project's wrapped data key. */
  seal(projectId: string, wrappedKey: string, place: string, value: string): string;
  /** Opens what `seal` made; throws when key, place or text do not fit. */
  open(projectId: string, wrappedKey: string, place: string, sealed: string): string;
  /** A value that only this master key gives; stored once to notice a wrong key at start. */
  readonly keyCheck: string;
  /** HMAC of an audit row by this installation. */
  auditMac(text: string): string;
  /** A key for HMACs of a given purpose, derived from the master key. */
  derive(purpose: string): Buffer;
}

const version = 'v1';

/** Derives every key from the master key of 32 bytes (HKDF-SHA-256, one label each). */
export function createSealing(masterKey: Buffer, random: Random): Sealing {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', masterKey, '', `svc/${version}/${purpose}`, 32));
  const wrapKey = derive('wrap');
  const auditKey = derive('audit');
  const dataKeys = new Map<string, Buffer>();

  const encrypt = (key: Buffer, place: string, value: Buffer): string => {
    const nonce = random.bytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
    const text = Buffer.concat([cipher.update(value), cipher.final()]);
    return [version, Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')].join('.');
  };
  const decrypt = (key: Buffer, place: string, sealed: string): Buffer => {
    const [seen, body] = sealed.split('.');
    if (seen !== version || body === undefined) throw new Error('sealed value of unknown version');
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
  };
  const dataKey = (projectId: string, wrapped: string): Buffer => {
    const known = dataKeys.get(wrapped);
    if (known !== undefined) return known;
    const key = decrypt(wrapKey, `project:${projectId}`, wrapped);
    if (dataKeys.size > 1000) dataKeys.clear();
    dataKeys.set(wrapped, key);
    return key;
  };
  return {
    newDataKey: (projectId) => encrypt(wrapKey, `project:${projectId}`, random.bytes(32)),
    seal: (projectId, wrapped, place, value) =>
      encrypt(dataKey(projectId, wrapped), `${projectId}|${place}`, Buffer.from(value)),
    open: (projectId, wrapped, place, sealed) =>
      decrypt(dataKey(projectId, wrapped), `${projectId}|${place}`, sealed).toString('utf8'),
    keyCheck: derive('check').toString('base64url'),
    auditMac: (text) => createHmac('sha256', auditKey).update(text).digest('base64url'),
    derive,
  };
}
