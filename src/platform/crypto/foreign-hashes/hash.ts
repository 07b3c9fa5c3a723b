/** A password hash made by another product, with the parameters needed to check a password against it. */
export type ForeignHash =
  | { readonly algorithm: 'bcrypt'; readonly hash: string }
  | { readonly algorithm: 'argon2'; readonly hash: string }
  | { readonly algorithm: 'phpass'; readonly hash: string }
  | { readonly algorithm: 'md5'; readonly hash: string }
  | { readonly algorithm: 'sha'; readonly hash: string; readonly version: ShaVersion }
  | {
      readonly algorithm: 'scrypt';
      readonly hash: string;
      readonly salt: string;
      /** N, r, p and the bytes of the key. */
      readonly cpu: number;
      readonly memory: number;
      readonly parallel: number;
      readonly length: number;
    }
  | {
      readonly algorithm: 'pbkdf2';
      /** Base64, like the salt. */
      readonly hash: string;
      readonly salt: string;
      readonly iterations: number;
      readonly digest: Pbkdf2Digest;
    }
  | {
      /** Firebase's variant; all four are base64. */
      readonly algorithm: 'scrypt-modified';
      readonly hash: string;
      readonly salt: string;
      readonly saltSeparator: string;
      readonly signerKey: string;
    };

/** Members of the SHA families, by their names in the API. */
export const shaVersions = [
  ...['sha1', 'sha224', 'sha256', 'sha384', 'sha512/224', 'sha512/256', 'sha512'],
  ...['sha3-224', 'sha3-256', 'sha3-384', 'sha3-512'],
] as const;

/** A member of the SHA families. */
export type ShaVersion = (typeof shaVersions)[number];

/** Digests of PBKDF2. */
const pbkdf2Digests = ['sha1', 'sha256', 'sha512'] as const;

/** A digest of PBKDF2. */
type Pbkdf2Digest = (typeof pbkdf2Digests)[number];

/** True for the name of a digest of PBKDF2. */
export function isPbkdf2Digest(name: string): name is Pbkdf2Digest {
  return (pbkdf2Digests as readonly string[]).includes(name);
}

/** True for the name of a member of the SHA families. */
export function isShaVersion(name: string): name is ShaVersion {
  return (shaVersions as readonly string[]).includes(name);
}

const mark = 'foreign:';

/** The stored form of a foreign hash. */
export function printForeign(hash: ForeignHash): string {
  return mark + JSON.stringify(hash);
}

/** Parses the output of `printForeign`; undefined for a hash of this service. */
export function parseForeign(stored: string): ForeignHash | undefined {
  return stored.startsWith(mark) ? JSON.parse(stored.slice(mark.length)) : undefined;
}

/** Algorithm and parameters of a foreign hash, without salt and key; they determine the time of a check. */
export function foreignKind(foreign: ForeignHash): string {
  const { algorithm, hash } = foreign;
  switch (algorithm) {
    case 'bcrypt':
    case 'phpass':
      // `$2b$12$`; `$P$B`, followed by the salt.
      return [algorithm, hash.slice(0, hash.startsWith('$2') ? 7 : 4)].join();
    case 'argon2':
      return [algorithm, ...hash.split('$').slice(1, 4)].join();
    case 'scrypt':
      return [algorithm, 'foreign', foreign.cpu, foreign.memory, foreign.parallel, foreign.length].join();
    case 'sha':
      return [algorithm, foreign.version].join();
    case 'pbkdf2':
      return [algorithm, foreign.digest, foreign.iterations, hash.length].join();
    default:
      return algorithm;
  }
}
