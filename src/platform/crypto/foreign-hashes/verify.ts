import { createCipheriv, createHash, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { lazy } from '../../runtime/lazy.js';
import { misfitOf } from './bounds.js';
import type { ForeignHash } from './hash.js';
import { phpass } from './phpass.js';

const stretch = promisify(pbkdf2);
const deriveKey = promisify<Buffer, Buffer, number, object, Buffer>(scrypt);
/** Parameters used by Firebase. */
const firebaseCost = { N: 16_384, r: 8, p: 1 } as const;

/** Creates the function that checks passwords against hashes of other products. */
export function createForeignVerifier() {
  const bcrypt = lazy(() => import('bcryptjs'));
  const argon2 = lazy(() => import('@node-rs/argon2'));

  const verifiers: {
    readonly [A in ForeignHash['algorithm']]: (
      password: string,
      hash: Extract<ForeignHash, { readonly algorithm: A }>,
    ) => Promise<boolean>;
  } = {
    bcrypt: async (password, { hash }) => (await bcrypt.get()).compare(password, hash),
    argon2: async (password, { hash }) => (await argon2.get()).verify(hash, password),
    phpass: async (password, { hash }) =>
      hash.startsWith('$2')
        ? (await bcrypt.get()).compare(password, hash)
        : equal(Buffer.from(await phpass(password, hash)), Buffer.from(hash)),
    md5: async (password, { hash }) => equalHex(createHash('md5').update(password).digest(), hash),
    sha: async (password, { hash, version }) =>
      equalHex(createHash(version.replace('/', '-')).update(password).digest(), hash),
    scrypt: async (password, { hash, salt, cpu: N, memory: r, parallel: p, length }) =>
      equalHex(await derive(Buffer.from(password), Buffer.from(salt), length, { N, r, p }), hash),
    pbkdf2: async (password, { hash, salt, iterations, digest }) => {
      const key = Buffer.from(hash, 'base64');
      return equal(await stretch(password, Buffer.from(salt, 'base64'), iterations, key.length, digest), key);
    },
    'scrypt-modified': async (password, { hash, salt, saltSeparator, signerKey }) => {
      const wholeSalt = Buffer.concat([Buffer.from(salt, 'base64'), Buffer.from(saltSeparator, 'base64')]);
      const key = await derive(Buffer.from(password), wholeSalt, 32, firebaseCost);
      const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
      return equal(cipher.update(Buffer.from(signerKey, 'base64')), Buffer.from(hash, 'base64'));
    },
  };

  /** True if the password matches; false, at no cost, for a hash that `misfitOf` rejects. */
  return async (password: string, hash: ForeignHash): Promise<boolean> => {
    if (misfitOf(hash) !== undefined) return false;
    // Each verifier takes the hash of its own algorithm; the compiler does not follow that through the table.
    const verify = verifiers[hash.algorithm] as (password: string, hash: ForeignHash) => Promise<boolean>;
    return verify(password, hash);
  };
}

/** Node.js rejects parameters whose memory reaches `maxmem`, so it is twice the required memory. */
function derive(
  password: Buffer,
  salt: Buffer,
  length: number,
  cost: { readonly N: number; readonly r: number; readonly p: number },
): Promise<Buffer> {
  return deriveKey(password, salt, length, { ...cost, maxmem: 256 * cost.N * cost.r + 256 * cost.r * cost.p });
}

function equalHex(digest: Buffer, hex: string): boolean {
  return equal(digest, Buffer.from(hex, 'hex'));
}

function equal(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
