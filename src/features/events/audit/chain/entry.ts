import { digest, keyedDigest } from '#src/platform/crypto/digest.js';

/** An audit entry with the fields that the chain covers. */
export interface ChainEntry {
  readonly seq: number;
  readonly id: string;
  readonly projectId: string | null;
  readonly at: string;
  readonly actorKind: string;
  readonly actorId: string;
  readonly action: string;
  readonly resource: string;
  readonly requestId: string;
  /** JSON text with sorted keys in every object. */
  readonly data: string;
  readonly mac: string;
}

/** The columns of a new entry, in the order of its HMAC. */
const recorded = ['id', 'projectId', 'at', 'actorKind', 'actorId', 'action', 'resource', 'requestId', 'data'] as const;

/** The text that the HMAC of an entry covers: its columns as a JSON array. */
export function recordedText(entry: Omit<ChainEntry, 'seq' | 'mac'>): string {
  return JSON.stringify(recorded.map((name) => entry[name]));
}

/** SHA-256 of an entry's canonical JSON: an array of its values in a fixed order. */
export function digestOf(entry: ChainEntry): string {
  return digest(JSON.stringify([entry.seq, ...recorded.map((name) => entry[name]), entry.mac]));
}

/** The previous hash of the first entry. */
export const firstHash = '';

/** The hash of an entry: SHA-256 over the hash before it and the digest of the entry. */
export function hashOf(previousHash: string, entryDigest: string): string {
  return digest(`${previousHash}.${entryDigest}`);
}

/** A personal value of an entry. */
export interface Subject {
  readonly field: string;
  readonly value: string;
  readonly salt: string;
}

/** The recorded values of an entry by name. Empty if the text is not a JSON object, as it was changed by SQL. */
export function recordedOf(data: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(data);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

/** The number of erased personal values of an entry; undefined if a remaining value does not match its commitment. */
export function erasedOf(data: string, subjects: readonly Subject[]): number | undefined {
  const committed = new Map(
    Object.entries(recordedOf(data)).flatMap(([field, value]) =>
      isCommitment(value) ? [[field, value.commitment] as const] : [],
    ),
  );
  const isRecorded = ({ field, value, salt }: Subject) => committed.get(field) === keyedDigest(salt, value);
  return subjects.every(isRecorded) ? committed.size - subjects.length : undefined;
}

/** True if a value is a commitment: a salted digest in place of a personal value. */
export function isCommitment(value: unknown): value is { readonly commitment: string } {
  return typeof value === 'object' && value !== null && 'commitment' in value && typeof value.commitment === 'string';
}
