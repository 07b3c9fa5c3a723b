/** A password hash that another product made, with what is needed to check a password against it. */
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
      /** As Firebase makes it; all four are base64. */
      readonly algorithm: 'scrypt-modified';
      readonly hash: string;
      readonly salt: string;
      readonly saltSeparator: string;
      readonly signerKey: string;
    };

/** Members of the SHA families, by the names of the wire. */
export const shaVersions = [
  ...['sha1', 'sha224', 'sha256', 'sha384', 'sha512/224', 'sha512/256', 'sha512'],
  ...['sha3-224', 'sha3-256', 'sha3-384', 'sha3-512'],
] as const;

/** A member of the SHA families. */
export type ShaVersion = (typeof shaVersions)[number];

const mark = 'foreign:';

/** The form in which a foreign hash stands where our own would. */
export function printForeign(hash: ForeignHash): string {
  return mark + JSON.stringify(hash);
}

/** What `printForeign` printed; undefined for a hash of our own. */
export function parseForeign(stored: string): ForeignHash | undefined {
  return stored.startsWith(mark) ? JSON.parse(stored.slice(mark.length)) : undefined;
}

/** What the time of checking a password against a foreign hash depends on: how it was made, without salt and key. */
export function foreignKind(foreign: ForeignHash): string {
  const { algorithm, hash } = foreign;
  switch (algorithm) {
    case 'bcrypt':
    case 'phpass':
      // `$2b$12$`; `$P$B`, whose salt comes next.
      return [algorithm, hash.slice(0, hash.startsWith('$2') ? 7 : 4)].join();
    case 'argon2':
      return [algorithm, ...hash.split('$').slice(1, 4)].join();
    case 'scrypt':
      return [algorithm, 'foreign', foreign.cpu, foreign.memory, foreign.parallel, foreign.length].join();
    case 'sha':
      return [algorithm, foreign.version].join();
    default:
      return algorithm;
  }
}
