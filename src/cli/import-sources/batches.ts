/** Most records and approximate characters of a batch. */
interface BatchLimits {
  readonly records: number;
  readonly characters: number;
}

/** The limits of a batch of rows that are read from another database. */
export const rowsOfBatch: BatchLimits = { records: 200, characters: 8_388_608 };

/** The number of rows of such a batch if none has more than these bytes. */
export function rowsWithin(rowBytes: number): number {
  return Math.max(1, Math.min(rowsOfBatch.records, Math.floor(rowsOfBatch.characters / rowBytes)));
}

/** Groups records until a batch is full, or until a signal. */
export async function* batchesOf<T>(
  records: AsyncIterable<T>,
  limits: BatchLimits,
  signal?: AbortSignal,
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let characters = 0;
  for await (const record of records) {
    if (signal?.aborted) return;
    batch.push(record);
    characters += charactersIn(record);
    if (batch.length < limits.records && characters < limits.characters) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Counts the characters of the texts in a record, to two levels. */
function charactersIn(record: unknown, levels = 2): number {
  if (typeof record === 'string') return record.length;
  if (typeof record !== 'object' || record === null || levels === 0) return 0;
  let characters = 0;
  for (const value of Object.values(record)) characters += charactersIn(value, levels - 1);
  return characters;
}
