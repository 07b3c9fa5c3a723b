import { createHash, randomBytes } from 'node:crypto';
import Scrypt from 'scrypt-kdf';
import { Failure } from '#src/contract/errors.js';
import { FairSemaphore } from '../admission/fair-semaphore.js';
import { addressKey } from '../admission/limiter.js';
import { lazy } from '../runtime/lazy.js';
import type { Metrics } from '../runtime/metrics.js';
import { misfitOf } from './foreign-hashes/bounds.js';
import { foreignKind, parseForeign } from './foreign-hashes/hash.js';

/** Cost of scrypt: N = 2^logN. */
export interface ScryptCost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

/** Parameters of new hashes. */
export interface HashParameters {
  readonly algorithm: 'scrypt' | 'argon2id';
  readonly scrypt: ScryptCost;
  /** Memory in KiB, passes, lanes. */
  readonly argon2id: { readonly memoryCost: number; readonly timeCost: number; readonly parallelism: number };
}

/** The default parameters, from ASVS 5.0 Appendix C. */
export const defaultHashParameters: HashParameters = {
  algorithm: 'scrypt',
  scrypt: { logN: 15, r: 8, p: 3 },
  argon2id: { memoryCost: 19_456, timeCost: 2, parallelism: 1 },
};

/** A hash in a portable form, with its algorithm and parameters. */
export interface HashDescription {
  readonly hash: string;
  readonly algorithm: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Hashes passwords, with limited concurrency, so that reads keep threads and a flood of logins ends in 503 instead of exhausted memory.
 * Network addresses are served round-robin, so that a flood from one does not delay others; null is the command line.
 */
export interface Hashing {
  /** A self-describing hash of a password in NFC. */
  hash(password: string, address: string | null): Promise<string>;
  /** True if the password matches the hash, which may be foreign. Without a hash it returns false, after the time of a current hash. */
  verify(password: string, hash: string | null, address: string | null): Promise<boolean>;
  /** True if the hash has other parameters than the current ones. */
  isOutdated(hash: string): boolean;
  /** Algorithm and parameters of a hash, without salt and key; they determine the time of a check. */
  kindOf(hash: string): string;
  /** Describes a hash for checking passwords in another product. */
  describe(hash: string): HashDescription;
}

/** `Algorithm.Argon2id`; a const enum cannot be imported under verbatimModuleSyntax. */
const argon2id = { algorithm: 2 } as const;
const queueLength = 32;
const longestWaitMs = 5000;
/** Limits the memory of a check, in case an attacker writes a row to the database. */
const highestLogN = 18;

/** Creates the hasher of one process; `parallel` hashes run at once. */
export function createHashing(parameters: HashParameters, parallel: number, metrics: Metrics): Hashing {
  const slots = new FairSemaphore({
    all: parallel,
    waiting: queueLength,
    waitMs: longestWaitMs,
    refuse: () => new Failure('general_unavailable', { retryAfter: 1, cause: 'password hash queue is full' }),
  });
  metrics.beforeRender(async () => metrics.hashQueue(slots.held, slots.waiting));
  const argon2 = lazy(() => import('@node-rs/argon2'));
  const foreign = lazy(async () => (await import('./foreign-hashes/verify.js')).createForeignVerifier());
  const make = async (password: string): Promise<string> => {
    if (parameters.algorithm === 'argon2id') {
      const { hash } = await argon2.get();
      return hash(password, { ...argon2id, ...parameters.argon2id, outputLen: 32 });
    }
    const key = await Scrypt.kdf(password, parameters.scrypt);
    return `scrypt:${Buffer.from(key).toString('base64')}`;
  };
  const check = async (password: string, hash: string): Promise<boolean> => {
    const other = parseForeign(hash);
    if (other !== undefined) return (await foreign.get())(password, other);
    if (hash.startsWith('$argon2id$')) return (await argon2.get()).verify(hash, password);
    const key = scryptKey(hash);
    return key !== undefined && Scrypt.viewParams(key).logN <= highestLogN && Scrypt.verify(key, password);
  };
  const inTurn = <T>(address: string | null, task: () => Promise<T>) => slots.use(addressKey(address ?? ''), task);
  const isOutdated = (hash: string): boolean => {
    if (parameters.algorithm === 'argon2id') {
      const { memoryCost: m, timeCost: t, parallelism: p } = parameters.argon2id;
      return !hash.startsWith(`$argon2id$v=19$m=${m},t=${t},p=${p}$`);
    }
    const key = scryptKey(hash);
    if (key === undefined) return true;
    const { logN, r, p } = Scrypt.viewParams(key);
    return logN !== parameters.scrypt.logN || r !== parameters.scrypt.r || p !== parameters.scrypt.p;
  };
  // A hash that no password matches; checking against it takes as long as a real check.
  const decoy = makeDecoy(parameters);
  return {
    hash: (password, address) => inTurn(address, () => make(password)),
    verify: (password, hash, address) =>
      inTurn(address, async () => {
        if (hash !== null && !isOutdated(hash)) return check(password, hash);
        // A hash that costs less than a current one must take as long; most foreign ones do. Otherwise the time would reveal that a hash
        // exists.
        const [fits] = await Promise.all([hash !== null && check(password, hash), check(password, decoy)]);
        return fits;
      }),
    describe,
    kindOf,
    isOutdated,
  };
}

function describe(stored: string): HashDescription {
  const foreign = parseForeign(stored);
  if (foreign !== undefined) {
    const { hash, algorithm, ...options } = foreign;
    return { hash, algorithm, options: { type: algorithm, ...options } };
  }
  const key = scryptKey(stored);
  if (key === undefined) {
    const [, m, t, p] = /\$m=(\d+),t=(\d+),p=(\d+)\$/.exec(stored)?.map(Number) ?? [];
    return { hash: stored, algorithm: 'argon2', options: { type: 'argon2', memoryCost: m, timeCost: t, threads: p } };
  }
  const { logN, r, p } = Scrypt.viewParams(key);
  const options = { type: 'scrypt', costCpu: 2 ** logN, costMemory: r, costParallel: p };
  return { hash: stored, algorithm: 'scrypt', options };
}

function kindOf(stored: string): string {
  const foreign = parseForeign(stored);
  if (foreign !== undefined) return foreignKind(foreign);
  const key = scryptKey(stored);
  if (key === undefined) return stored.split('$').slice(0, 4).join('$');
  const { logN, r, p } = Scrypt.viewParams(key);
  return ['scrypt', logN, r, p].join();
}

/** True for a hash that this service has made, with parameters that it accepts. */
export function isOwnHash(text: string): boolean {
  if (text.startsWith('$argon2id$')) return misfitOf({ algorithm: 'argon2', hash: text }) === undefined;
  const key = scryptKey(text);
  if (key?.length !== 96) return false;
  try {
    const { logN, r, p } = Scrypt.viewParams(key);
    return logN <= highestLogN && r * p <= 64;
  } catch {
    return false;
  }
}

function scryptKey(hash: string): Uint8Array | undefined {
  return hash.startsWith('scrypt:') ? new Uint8Array(Buffer.from(hash.slice('scrypt:'.length), 'base64')) : undefined;
}

/** A well-formed hash of the given cost with random contents. */
function makeDecoy({ algorithm, scrypt, argon2id: cost }: HashParameters): string {
  if (algorithm === 'argon2id') {
    const part = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '');
    return `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${part(16)}$${part(32)}`;
  }
  // The file format of scrypt: magic, version, cost, salt, then half a SHA-256 of all that, then an HMAC.
  const head = Buffer.alloc(48);
  head.write('scrypt');
  head.writeUInt8(scrypt.logN, 7);
  head.writeUInt32BE(scrypt.r, 8);
  head.writeUInt32BE(scrypt.p, 12);
  randomBytes(32).copy(head, 16);
  const checksum = createHash('sha256').update(head).digest().subarray(0, 16);
  return `scrypt:${Buffer.concat([head, checksum, randomBytes(32)]).toString('base64')}`;
}
