import type { ImportedUser } from '#src/features/index.js';
import { isPbkdf2Digest, isShaVersion } from '#src/platform/crypto/foreign-hashes/hash.js';
import { nonEmptyText, type RowMembers } from './draft.js';

/**
 * The password hash of a user object: of this service, of another product, or found by its form if no algorithm is named. A hash of an
 * unknown algorithm is treated as bcrypt, so that it is refused with its line.
 */
export function productHash(named: string, hash: string | undefined, options: RowMembers): ImportedUser['hash'] {
  if (hash === undefined) return undefined;
  if (hash.startsWith('scrypt:') || hash.startsWith('$argon2id$')) return hash;
  const number = (...names: readonly string[]) =>
    Number(names.map((name) => options[name]).find((one) => one !== undefined));
  const text = (name: string) => nonEmptyText(options[name]) ?? '';
  switch (algorithmOf(named, hash)) {
    case 'argon2':
      return { algorithm: 'argon2', hash };
    case 'phpass':
      return { algorithm: 'phpass', hash };
    case 'md5':
      return { algorithm: 'md5', hash };
    case 'sha': {
      const version = (nonEmptyText(options.version) ?? 'sha256').toLowerCase();
      return isShaVersion(version) ? { algorithm: 'sha', hash, version } : { algorithm: 'bcrypt', hash };
    }
    case 'scrypt':
      return {
        algorithm: 'scrypt',
        hash,
        salt: text('salt'),
        cpu: number('cpu', 'costCpu'),
        memory: number('memory', 'costMemory'),
        parallel: number('parallel', 'costParallel'),
        length: number('length'),
      };
    case 'scryptmod':
      return {
        algorithm: 'scrypt-modified',
        hash,
        salt: text('salt'),
        saltSeparator: text('saltSeparator'),
        signerKey: text('signerKey'),
      };
    case 'pbkdf2': {
      const digest = text('digest');
      const iterations = number('iterations');
      return isPbkdf2Digest(digest)
        ? { algorithm: 'pbkdf2', hash, salt: text('salt'), iterations, digest }
        : { algorithm: 'bcrypt', hash };
    }
    default:
      return { algorithm: 'bcrypt', hash };
  }
}

function algorithmOf(named: string, hash: string): string {
  const name = named
    .toLowerCase()
    .replace(/[-_]/g, '')
    .replace(/modified$/, 'mod');
  if (name !== '') return name;
  if (hash.startsWith('$argon2')) return 'argon2';
  return /^\$[PH]\$/.test(hash) ? 'phpass' : 'bcrypt';
}
