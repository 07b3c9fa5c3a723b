import type { Query } from '#src/platform/db/query.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { SignedHead } from '../chain/statement.js';
import { auditHeads } from './store.js';

/** Reads the head; undefined if there is no such row. Its signature is empty before anything is sealed. */
export async function headIn(reader: Reader, query: Query): Promise<SignedHead | undefined> {
  const row = await reader.one(query);
  if (row === undefined) return undefined;
  const { seq, hash, at, keyId, signature } = auditHeads.decode(row);
  return { seq, hash, at: at ?? '', keyId: keyId ?? '', signature: signature ?? '' };
}
