import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { type Identity, type Recipient, Stanza } from 'age-encryption';

/** Work factor of new archives, the one of the program `age`. */
const workFactor = 18;
/** Highest work factor that is accepted, which takes 1 GiB of memory. */
const highestWorkFactor = 20;
const [kind, label, saltBytes, tagBytes] = ['scrypt', 'age-encryption.org/v1/scrypt', 16, 16];
const cipher = 'chacha20-poly1305';
const options = { authTagLength: tagBytes } as const;
const nonce = Buffer.alloc(12);

/**
 * The recipient of a passphrase (https://age-encryption.org/v1, the scrypt recipient type). The one of the package derives the key in
 * JavaScript, which blocks a server for a second.
 */
export function recipientOf(passphrase: string): Recipient {
  return {
    wrapFileKey: async (fileKey) => {
      const salt = randomBytes(saltBytes);
      const wrapping = createCipheriv(cipher, await keyOf(passphrase, salt, workFactor), nonce, options);
      const body = Buffer.concat([wrapping.update(fileKey), wrapping.final(), wrapping.getAuthTag()]);
      return [new Stanza([kind, base64(salt), String(workFactor)], body)];
    },
  };
}

/** The identity of a passphrase. */
export function identityOf(passphrase: string): Identity {
  return {
    unwrapFileKey: async (stanzas) => {
      const [stanza] = stanzas;
      if (stanza === undefined || stanza.args[0] !== kind) return null;
      const [, salt = '', factor = ''] = stanza.args;
      const isValid = stanzas.length === 1 && stanza.args.length === 3 && /^[1-9][0-9]?$/.test(factor);
      const saltOf = Buffer.from(salt, 'base64');
      if (!isValid || Number(factor) > highestWorkFactor || base64(saltOf) !== salt || saltOf.length !== saltBytes)
        throw new Error('the header is not valid');
      const body = Buffer.from(stanza.body);
      if (body.length !== 16 + tagBytes) throw new Error('the header is not valid');
      const opening = createDecipheriv(cipher, await keyOf(passphrase, saltOf, Number(factor)), nonce, options);
      opening.setAuthTag(body.subarray(-tagBytes));
      try {
        return Buffer.concat([opening.update(body.subarray(0, -tagBytes)), opening.final()]);
      } catch {
        return null;
      }
    },
  };
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

const derive = promisify<Buffer, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** Derives a key, in a thread. */
function keyOf(passphrase: string, salt: Buffer, factor: number): Promise<Buffer> {
  const N = 2 ** factor;
  const limits = { N, r: 8, p: 1, maxmem: 2 * 128 * N * 8 };
  return derive(Buffer.from(passphrase), Buffer.concat([Buffer.from(label), salt]), 32, limits);
}
