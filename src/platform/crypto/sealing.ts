import type { Instant } from '#src/contract/shapes.js';
import { bind } from '../runtime/bind.js';
import { keyedDigest } from './digest.js';
import { createKeyRing, type DerivedKey, hkdf, type KeyRing, type Rotation, type StoredKeys } from './key-ring.js';
import type { Random } from './random.js';
import { boundVersion, decrypt, encrypt } from './seal.js';

/** A column with sealed values. */
export interface BoundColumn {
  readonly table: string;
  readonly column: string;
  /** Additional data of version 1 values, which does not always identify the row. Absent if the column has no such values. */
  readonly before?: (row: string) => string;
}

/** A column that may contain version 1 values, which a job seals again. */
export interface SealedColumn extends BoundColumn {
  /** The column that identifies a row within its project. */
  readonly key: string;
  /** The primary key, in its order. */
  readonly order: readonly string[];
  readonly before: (row: string) => string;
}

/** The place of a sealed value: one row of one column. The value cannot be opened anywhere else. */
export interface SealedAad {
  readonly column: BoundColumn;
  /** Identifies the row within its project, such as the value of the column's `key`. */
  readonly row: string;
}

/** The place of a value that cannot be opened. */
interface UnreadableValue {
  readonly table: string;
  readonly column: string;
  readonly row: string;
}

/** Encrypts values at rest (AES-256-GCM, random 96-bit nonces, the row's identity as additional data). */
export interface Sealing {
  /** A new data key for a project, wrapped by the master key. */
  newDataKey(projectId: string): string;
  /**
   * The same data key, wrapped so that it opens bound values only, as new ones do from the start. Undefined, and reported, if it cannot be
   * opened.
   */
  bindDataKey(projectId: string, wrappedKey: string): string | undefined;
  /** Seals a value with a project's wrapped data key, for one place. */
  seal(projectId: string, wrappedKey: string, aad: SealedAad, value: string): string;
  /** Opens a sealed value. With a version 1 data key it also opens version 1 values. Throws if key, place or text do not match. */
  open(projectId: string, wrappedKey: string, aad: SealedAad, sealed: string): string;
  /** Same as `open`, but one broken row must not break others: undefined, and reported, if it cannot be opened. */
  tryOpen(projectId: string, wrappedKey: string, aad: SealedAad, sealed: string): string | undefined;
  /** The key of one object of the file store, derived from the project's data key and the object's own key. */
  objectKey(projectId: string, wrappedKey: string, object: string): Buffer;
  /** A value that depends only on the master key; stored once to detect a wrong key at start. */
  keyCheck(): string;
  /** Loads what the database holds about the master key. False if it belongs to another one. */
  load(stored: StoredKeys): boolean;
  /** HMAC of an audit row of a time by this installation. */
  auditMac(text: string, at: Instant): string;
  /** A key for HMACs of a given purpose, derived from the master key. */
  derive(purpose: string): DerivedKey;
  /** Prepares the rotation to another master key, whose HMACs begin at `since`. */
  rotate(masterKey: Buffer, since: Instant): Rotation;
  /** The same data key of a project, wrapped for the master key of a rotation. Throws if it cannot be opened. */
  rewrap(to: Rotation, projectId: string, wrappedKey: string): string;
}

/** Version of the previous values and wrapped data keys. */
const version = 'v1';
/** Prefix of values that are not bound to their row yet, and of wrapped data keys that open such values. */
export const unboundPrefix = `${version}.`;

interface Deps {
  readonly random: Random;
  readonly report: (projectId: string, place: UnreadableValue) => void;
  readonly ring: KeyRing;
  readonly auditKey: DerivedKey;
  /** Data keys by their wrapped form. */
  readonly dataKeys: Map<string, Buffer>;
}

/** What a sealing needs besides the master key. */
interface Options {
  /** Called with the place of a value that cannot be opened. */
  readonly report?: Deps['report'];
  /** Returns the master keys that the file of the master key holds now. */
  readonly reread?: (() => readonly Buffer[]) | undefined;
}

/** Derives every key from the master key of 32 bytes, one label each. */
export function createSealing(masterKey: Buffer, random: Random, { report = () => {}, reread }: Options = {}): Sealing {
  const ring = createKeyRing(masterKey, random, reread);
  const deps: Deps = { random, report, ring, auditKey: ring.derive('audit'), dataKeys: new Map() };
  return {
    ...bind(deps, { newDataKey, bindDataKey, seal, open, tryOpen, objectKey, auditMac, rewrap }),
    load: ring.load,
    derive: ring.derive,
    rotate: ring.rotate,
    keyCheck: ring.check,
  };
}

function newDataKey(deps: Deps, projectId: string): string {
  return wrap(deps, projectId, deps.random.bytes(32));
}

function bindDataKey(deps: Deps, projectId: string, wrapped: string): string | undefined {
  try {
    return wrap(deps, projectId, dataKey(deps, projectId, wrapped));
  } catch {
    deps.report(projectId, { table: 'projects', column: 'data_key', row: projectId });
    return undefined;
  }
}

function wrap({ random, ring }: Deps, projectId: string, key: Buffer): string {
  return ring.withWrapKey((wrapKey) => encrypt(random, wrapKey, wrapPlace(projectId, boundVersion), key));
}

/** The version of the wrapped key is part of its additional data, so that an attacker with database access cannot turn one into the other. */
function wrapPlace(projectId: string, form: string): string {
  return form === version ? `project:${projectId}` : `project:${projectId}|${form}`;
}

function dataKey({ ring, dataKeys }: Deps, projectId: string, wrapped: string): Buffer {
  const cached = dataKeys.get(wrapped);
  if (cached !== undefined) return cached;
  const form = formOf(wrapped);
  const key = ring.withWrapKey((wrapKey) => decrypt(wrapKey, wrapPlace(projectId, form), wrapped, form));
  if (dataKeys.size > 1000) dataKeys.clear();
  dataKeys.set(wrapped, key);
  return key;
}

function rewrap(deps: Deps, { wrapKey }: Pick<Rotation, 'wrapKey'>, projectId: string, wrapped: string): string {
  const form = formOf(wrapped);
  return encrypt(deps.random, wrapKey, wrapPlace(projectId, form), dataKey(deps, projectId, wrapped), form);
}

function seal(deps: Deps, projectId: string, wrapped: string, aad: SealedAad, value: string): string {
  return encrypt(deps.random, dataKey(deps, projectId, wrapped), boundTo(projectId, aad), Buffer.from(value));
}

function open(deps: Deps, projectId: string, wrapped: string, aad: SealedAad, sealed: string): string {
  const key = dataKey(deps, projectId, wrapped);
  const { before } = aad.column;
  const opened =
    before !== undefined && isUnbound(wrapped) && isUnbound(sealed)
      ? decrypt(key, `${projectId}|${before(aad.row)}`, sealed, version)
      : decrypt(key, boundTo(projectId, aad), sealed);
  return opened.toString('utf8');
}

function tryOpen(deps: Deps, projectId: string, wrapped: string, aad: SealedAad, sealed: string): string | undefined {
  try {
    return open(deps, projectId, wrapped, aad, sealed);
  } catch {
    deps.report(projectId, { table: aad.column.table, column: aad.column.column, row: aad.row });
    return undefined;
  }
}

function objectKey(deps: Deps, projectId: string, wrapped: string, object: string): Buffer {
  return hkdf(dataKey(deps, projectId, wrapped), `file|${projectId}|${object}`);
}

function auditMac({ auditKey }: Deps, text: string, at: Instant): string {
  return keyedDigest(auditKey(at), text);
}

/** Checks if a stored text is sealed, in a column that also contains JSON: no JSON starts like this. */
export function isSealed(text: string): boolean {
  return text.startsWith(`${boundVersion}.`);
}

function isUnbound(sealed: string): boolean {
  return sealed.startsWith(unboundPrefix);
}

function formOf(sealed: string): string {
  return isUnbound(sealed) ? version : boundVersion;
}

function boundTo(projectId: string, { column, row }: SealedAad): string {
  return [column.table, column.column, projectId, row].join('|');
}
