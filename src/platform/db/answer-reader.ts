import type { Reading } from '#src/contract/reading.js';
import type { ByteAllowance, ResponseBudget } from '#src/contract/response-budget.js';
import type { Database, Reader } from './unit.js';

/** A reader for a response, with the bytes that the response may use. */
export interface AnswerReader extends Reader {
  readonly bytes: ByteAllowance;
}

/** Reads within the memory budget of the response and the caller's database quota; each attempt uses one snapshot. */
export function readAnswer<T>(
  db: Database,
  { budget, reading }: { readonly budget: ResponseBudget; readonly reading?: Reading },
  attempt: (reader: AnswerReader) => Promise<T>,
): Promise<T> {
  return budget.read((bytes) => db.lists(reading).snapshot((snapshot) => attempt({ ...snapshot, bytes })));
}
