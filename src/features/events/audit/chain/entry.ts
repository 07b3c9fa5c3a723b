import { digest, keyedDigest } from '#src/platform/digest.js';

/** An entry of the audit log as the chain covers it. */
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
  /** JSON text with the keys of every object in order. */
  readonly data: string;
  readonly mac: string;
}

/** The columns of an entry over which its HMAC goes, as JSON. */
export function recordedText(entry: Omit<ChainEntry, 'seq' | 'mac'>): string {
  const { id, projectId, at, actorKind, actorId, action, resource, requestId, data } = entry;
  return JSON.stringify([id, projectId, at, actorKind, actorId, action, resource, requestId, data]);
}

/** SHA-256 of an entry's canonical JSON: an array of its values in a fixed order. */
export function digestOf(entry: ChainEntry): string {
  const { seq, id, projectId, at, actorKind, actorId, action, resource, requestId, data, mac } = entry;
  return digest(JSON.stringify([seq, id, projectId, at, actorKind, actorId, action, resource, requestId, data, mac]));
}

/** What stands before the first entry. */
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

/** What an entry recorded, by name. Nothing where its text was changed by SQL and is no JSON object any more. */
export function recordedOf(data: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(data);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

/** How many personal values of an entry are erased; undefined where one of those that are left is not the one that was recorded. */
export function erasedOf(data: string, subjects: readonly Subject[]): number | undefined {
  const committed = new Map(
    Object.entries(recordedOf(data)).flatMap(([field, value]) =>
      isCommitment(value) ? [[field, value.commitment] as const] : [],
    ),
  );
  const isRecorded = ({ field, value, salt }: Subject) => committed.get(field) === keyedDigest(salt, value);
  return subjects.every(isRecorded) ? committed.size - subjects.length : undefined;
}

/** Whether a value of an entry is a salted digest, which stands for a personal value. */
export function isCommitment(value: unknown): value is { readonly commitment: string } {
  return typeof value === 'object' && value !== null && 'commitment' in value && typeof value.commitment === 'string';
}
