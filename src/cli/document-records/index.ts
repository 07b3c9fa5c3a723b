import type { Attribute } from '#src/features/index.js';
import { csvRecords, isCsvHeader } from './csv.js';
import { ndjsonRecords } from './ndjson.js';
import type { DocumentRecord } from './record.js';

export { csvHeader, csvLine } from './csv.js';
export type { DocumentRecord } from './record.js';

/** File formats of documents. */
export const documentFormats = ['ndjson', 'csv'] as const;
/** A file format of documents. */
export type DocumentFormat = (typeof documentFormats)[number];

/** Reads a file of documents line by line; each line may have up to `maxBytes` bytes. */
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
