import { createHash, hkdfSync } from 'node:crypto';
import type { Instant } from '#src/contract/shapes.js';
import { millisecondsOf } from '../runtime/clock.js';
import type { Random } from './random.js';
import { decrypt, encrypt } from './seal.js';

/** Version in the labels of derived keys. */
const version = 'v1';

/** What the database holds about the master key. */
export interface StoredKeys {
  /** Depends only on the master key. */
  readonly check: string;
  /** The roots of derived keys, sealed by the master key. Absent until the master key was rotated once. */
  readonly roots?: string | undefined;
}

/** A root from which keys of HMACs are derived, for values made since a time. */
interface Root {
  readonly key: Buffer;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** The key of one purpose for a value made at a time; without a time the first one, which never changes. */
export type DerivedKey = (at?: Instant) => Buffer;

/** The result of a rotation, to be stored in one transaction. */
export interface Rotation extends StoredKeys {
  readonly roots: string;
  /** Wraps a key of the ring with the new master key. */
  readonly wrapKey: Buffer;
}

/**
 * The master key, and the roots of the keys that HMACs use. A wrapped value can be wrapped again with another master key, an HMAC cannot: so
 * a rotation keeps the former roots, sealed in the database, for values made before it, and adds a random one for later values.
 */
export interface KeyRing {
  /** Depends only on the master key. */
  check(): string;
  /** Runs with the key that wraps data keys. If that fails, repeats with the keys in the file of the master key, and keeps the one that works. */
  withWrapKey<T>(body: (wrapKey: Buffer) => T): T;
  /** Loads what the database holds. False if it belongs to another master key. */
  load(stored: StoredKeys): boolean;
  derive(purpose: string): DerivedKey;
  /** Prepares the rotation to another master key. Its own root is used for values made after `since`. */
  rotate(masterKey: Buffer, since: Instant): Rotation;
}

/** Creates the ring of a master key of 32 bytes. `reread` returns the keys that its file holds now. */
export function createKeyRing(masterKey: Buffer, random: Random, reread: () => readonly Buffer[] = () => []): KeyRing {
  let master = keysOf(masterKey);
  /** The key that this process used before: a cached project still has a data key that it wraps. */
  let former: MasterKeys | undefined;
  let roots: readonly Root[] = [{ key: masterKey, since: 0 }];
  let derived = new Map<string, Buffer>();
  /** The first key of the file that fits, other than the current one. */
  const adopt = (fits: (keys: MasterKeys) => boolean): boolean => {
    const found = reread()
      .map(keysOf)
      .find((keys) => keys.check !== master.check && fits(keys));
    if (found === undefined) return false;
    former = master;
    master = found;
    return true;
  };
  return {
    check: () => master.check,
    withWrapKey: (body) => {
      try {
        return body(master.wrapKey);
      } catch (error) {
        const { wrapKey: before } = former ?? master;
        if (succeeds(() => body(before))) return body(before);
        if (!adopt(({ wrapKey }) => succeeds(() => body(wrapKey)))) throw error;
        return body(master.wrapKey);
      }
    },
    load: ({ check, roots: sealed }) => {
      if (check !== master.check && !adopt((keys) => keys.check === check)) return false;
      roots = sealed === undefined ? [{ key: master.key, since: 0 }] : openRoots(master.wrapKey, sealed);
      derived = new Map();
      return true;
    },
    derive: (purpose) => (at) => {
      const root = (at === undefined ? undefined : rootAt(roots, at)) ?? roots[0];
      const name = `${purpose} ${root?.since}`;
      const key = derived.get(name) ?? hkdf(root?.key ?? masterKey, purpose);
      derived.set(name, key);
      return key;
    },
    rotate: (next, since) => {
      const { wrapKey, check } = keysOf(next);
      const all = [...roots, { key: random.bytes(32), since: millisecondsOf(since) }];
      return { check, wrapKey, roots: sealRoots(random, wrapKey, all) };
    },
  };
}

/** The fingerprint of a master key, from its check value. It reveals nothing about the key. */
export function fingerprintOf(check: string): string {
  return createHash('sha256').update(check).digest('hex').slice(0, 16);
}

/** The check value of a master key. */
export function checkOf(masterKey: Buffer): string {
  return keysOf(masterKey).check;
}

/** Derives a key of 32 bytes (HKDF-SHA-256). */
export function hkdf(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `svc/${version}/${purpose}`, 32));
}

/** A master key and what follows from it alone. */
interface MasterKeys {
  readonly key: Buffer;
  readonly wrapKey: Buffer;
  readonly check: string;
}

function keysOf(key: Buffer): MasterKeys {
  return { key, wrapKey: hkdf(key, 'wrap'), check: hkdf(key, 'check').toString('base64url') };
}

/** Skips the parsing of the time while there is one root only: every audit entry needs a key. */
function rootAt(roots: readonly Root[], at: Instant): Root | undefined {
  if (roots.length === 1) return roots[0];
  const time = millisecondsOf(at);
  return roots.findLast(({ since }) => since <= time);
}

const rootsPlace = 'installation|key_roots';

function sealRoots(random: Random, wrapKey: Buffer, roots: readonly Root[]): string {
  const text = JSON.stringify(roots.map(({ key, since }) => ({ key: key.toString('base64url'), since })));
  return encrypt(random, wrapKey, rootsPlace, Buffer.from(text));
}

function openRoots(wrapKey: Buffer, sealed: string): Root[] {
  const list: { key: string; since: number }[] = JSON.parse(decrypt(wrapKey, rootsPlace, sealed).toString());
  return list.map(({ key, since }) => ({ key: Buffer.from(key, 'base64url'), since }));
}

function succeeds(body: () => unknown): boolean {
  try {
    body();
    return true;
  } catch {
    return false;
  }
}
