import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from './random.js';

/** Version of values whose additional data includes table, column, project and row, and of data keys that open only such values. */
export const boundVersion = 'v2';

/** Seals bytes (AES-256-GCM, a random nonce) as text. `aad` has to be the same to open them. */
export function encrypt(random: Random, key: Buffer, aad: string, value: Buffer, form = boundVersion): string {
  const nonce = random.bytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  const text = Buffer.concat([cipher.update(value), cipher.final()]);
  return [form, Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')].join('.');
}

/** Opens a sealed text. Throws if it has another form, or key or `aad` do not match. */
export function decrypt(key: Buffer, aad: string, sealed: string, form = boundVersion): Buffer {
  const [seen, body] = sealed.split('.');
  if (seen !== form || body === undefined) throw new Error('sealed value of unknown version');
  const bytes = Buffer.from(body, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
    .setAAD(Buffer.from(aad))
    .setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
}
