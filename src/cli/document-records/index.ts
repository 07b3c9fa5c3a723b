import type { Attribute } from '#src/features/index.js';
import { csvRecords, isCsvHeader } from './csv.js';
import { ndjsonRecords } from './ndjson.js';
import type { DocumentRecord } from './record.js';

export { csvHeader, csvLine } from './csv.js';
export type { DocumentRecord } from './record.js';

/** The forms of files of documents. */
export const documentFormats = ['ndjson', 'csv'] as const;
/** The form of a file of documents. */
export type DocumentFormat = (typeof documentFormats)[number];

/** Reads a file of documents a line at a time, each of at most so many bytes. */
export function documentRecords(
  chunks: AsyncIterable<Buffer>,
  format: DocumentFormat,
  attributes: readonly Attribute[],
  maxBytes: number,
): AsyncIterable<DocumentRecord> {
  return format === 'csv'
    ? csvRecords(chunks, attributes, maxBytes)
    : ndjsonRecords(chunks, maxBytes, (line) => isCsvHeader(line, attributes));
}
