import { foreignHashCost } from '#src/contract/limits.js';
import type { ForeignHash } from './hash.js';

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const phpassAlphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Digest sizes of the SHA families, in bytes. */
const shaBytes: Readonly<Record<string, number>> = {
  sha1: 20,
  sha224: 28,
  sha256: 32,
  sha384: 48,
  'sha512/224': 28,
  'sha512/256': 32,
  sha512: 64,
  'sha3-224': 28,
  'sha3-256': 32,
  'sha3-384': 48,
  'sha3-512': 64,
};

/** Describes why a foreign hash is not accepted; undefined if it can be checked at an acceptable cost. */
export function misfitOf(hash: ForeignHash): string | undefined {
  switch (hash.algorithm) {
    case 'bcrypt':
      return bcryptMisfit(hash.hash);
    case 'argon2':
      return argon2Misfit(hash.hash);
    case 'phpass':
      return phpassMisfit(hash.hash);
    case 'md5':
      return hexMisfit(hash.hash, 16);
    case 'sha':
      return hexMisfit(hash.hash, shaBytes[hash.version] ?? 0);
    case 'scrypt':
      return scryptMisfit(hash);
    case 'pbkdf2':
      return pbkdf2Misfit(hash);
    default:
      return isBase64(hash.hash, 64, 88) &&
        isBase64(hash.salt, 1, 128) &&
        isBase64(hash.saltSeparator, 0, 32) &&
        isBase64(hash.signerKey, 64, 88)
        ? undefined
        : 'hash, salt, separator and signer key must be base64 as Firebase exports them';
  }
}

function isBase64(text: string, min: number, max: number): boolean {
  return text.length >= min && text.length <= max && base64.test(text);
}

function hexMisfit(text: string, bytes: number): string | undefined {
  return new RegExp(`^[0-9a-fA-F]{${2 * bytes}}$`).test(text) ? undefined : `must be ${2 * bytes} hexadecimal digits`;
}

function bcryptMisfit(text: string): string | undefined {
  const rounds = Number(/^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(text)?.[1] ?? Number.NaN);
  if (Number.isNaN(rounds)) return 'must be a bcrypt hash, $2a$, $2b$ or $2y$ with 60 characters';
  return rounds < 4 || rounds > foreignHashCost.bcrypt
    ? `must have a cost from 4 to ${foreignHashCost.bcrypt}`
    : undefined;
}

function argon2Misfit(text: string): string | undefined {
  const [, m, t, p, salt = '', key = ''] =
    /^\$argon2(?:id|i|d)\$v=(?:16|19)\$m=(\d{1,10}),t=(\d{1,10}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(
      text,
    ) ?? [];
  if (m === undefined) return 'must be an argon2i, argon2d or argon2id hash in the PHC format';
  if (salt.length < 11 || salt.length > 86 || key.length < 16 || key.length > 171)
    return 'must have a salt of 8 to 64 bytes and a key of 12 to 128 bytes';
  const [memory, passes, lanes] = [Number(m), Number(t), Number(p)];
  const { argon2Memory: maxMemory, argon2Work: work, argon2Lanes: maxLanes } = foreignHashCost;
  if (lanes < 1 || lanes > maxLanes || passes < 1 || memory < 8 * lanes) return 'has impossible parameters';
  return memory > maxMemory || memory * passes > work
    ? `must not cost more than m=${maxMemory} and m times t = ${work}`
    : undefined;
}

function scryptMisfit(hash: Extract<ForeignHash, { readonly algorithm: 'scrypt' }>): string | undefined {
  const { cpu, memory, parallel, length } = hash;
  const { scryptMemory, scryptWork, scryptLength } = foreignHashCost;
  if (length < 16 || length > scryptLength) return `must have a length from 16 to ${scryptLength}`;
  if (cpu < 2 || !Number.isInteger(Math.log2(cpu)) || memory < 1 || parallel < 1)
    return 'must have a power of two as cpu cost, and memory and parallel costs of at least 1';
  if (128 * cpu * memory > scryptMemory || cpu * memory * parallel > scryptWork)
    return `must not cost more than ${scryptMemory} bytes and cpu times memory times parallel = ${scryptWork}`;
  return hexMisfit(hash.hash, length);
}

function pbkdf2Misfit({ hash, salt, iterations }: Extract<ForeignHash, { readonly algorithm: 'pbkdf2' }>) {
  if (!isBase64(hash, 24, 172) || !isBase64(salt, 1, 344))
    return 'must have a hash of 16 to 128 bytes and a salt, in base64';
  return iterations < 1 || iterations > foreignHashCost.pbkdf2
    ? `must have from 1 to ${foreignHashCost.pbkdf2} iterations`
    : undefined;
}

function phpassMisfit(text: string): string | undefined {
  // phpass falls back to bcrypt if it is available, and its hashes then have this form.
  if (text.startsWith('$2')) return bcryptMisfit(text);
  if (!/^\$[PH]\$[./A-Za-z0-9]{31}$/.test(text)) return 'must be a portable phpass hash, $P$ or $H$ with 34 characters';
  const log = phpassAlphabet.indexOf(text.charAt(3));
  return log < 7 || log > foreignHashCost.phpass
    ? `must have from 2^7 to 2^${foreignHashCost.phpass} iterations`
    : undefined;
}
