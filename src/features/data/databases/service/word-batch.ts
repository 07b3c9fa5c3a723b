import { wordLimits } from '#src/contract/limits.js';
import type { Connection } from '#src/platform/db/driver.js';
import type { WordStore } from '#src/platform/db/word-store.js';
import { splitWords } from '#src/platform/text/word-splitter.js';

/** Numbers of a fulltext index, its attribute and its collection. */
export interface IndexNumbers {
  readonly collection: number;
  readonly attribute: number;
  readonly index: number;
}

/** A unit of work, or a connection. */
interface Writer extends Pick<Connection, 'all'> {
  run(query: Parameters<Connection['run']>[0]): Promise<unknown>;
}

/**
 * Stores the words of the next documents after a sequence. `last` is the sequence of the last of them; undefined if none is left. Stores none
 * if one of the documents has too many words.
 */
export async function indexNextWords(
  writer: Writer,
  words: WordStore,
  { collection, attribute, index }: IndexNumbers,
  after: number,
): Promise<{ readonly last: number | undefined; readonly hasTooMany: boolean }> {
  const [end] = await writer.all(words.batchEnd(collection, attribute, after));
  if (end?.last === undefined || end.last === null) return { last: undefined, hasTooMany: false };
  const last = Number(end.last);
  const texts = await writer.all(words.texts(collection, attribute, after, last));
  const rows = texts.map(({ seq, text }) => ({ sequence: String(seq), words: splitWords(String(text ?? '')) }));
  if (rows.some((one) => one.words.length > wordLimits.words)) return { last, hasTooMany: true };
  const joined = rows.map((one) => ({ sequence: one.sequence, words: one.words.join(' ') }));
  if (joined.length > 0) await writer.run(words.put(collection, index, joined));
  return { last, hasTooMany: false };
}
