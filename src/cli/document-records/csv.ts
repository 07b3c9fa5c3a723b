import { type Attribute, attributeTypes } from '#src/features/index.js';
import { parseJson, printJson } from '#src/platform/text/json.js';
import { usageError } from '../terminal/exit.js';
import { csvCell, csvValues } from './csv-rows.js';
import { idNames } from './foreign-rows.js';
import type { DocumentRecord } from './record.js';

/** System members that a file keeps; those in `ignored` depend on the target collection. */
const kept = ['$id', '$createdAt', '$updatedAt', '$permissions'] as const;
const ignored = ['$sequence', '$collectionId', '$databaseId'];

/**
 * Reads CSV (RFC 4180) with the column names in the first line. An empty cell is null; an empty quoted cell is the empty string. Lists and
 * permissions are JSON.
 */
export function csvRecords(
  chunks: AsyncIterable<Buffer>,
  attributes: readonly Attribute[],
  maxBytes: number,
): AsyncGenerator<DocumentRecord, void, undefined> {
  const byKey = new Map(attributes.map((attribute) => [attribute.key, attribute]));
  return csvValues(
    chunks,
    maxBytes,
    (names) => columnsOf(names, byKey),
    (columns, cells) => documentOf(columns, cells, byKey),
  );
}

/**
 * True if a line of a file read in another format looks like a CSV header: it consists of names and includes a column of the collection.
 */
export function isCsvHeader(line: string, attributes: readonly Attribute[]): boolean {
  if (!/^[\w$",; .-]+\r?$/.test(line)) return false;
  const names = line.split(/[,;]/).map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
  const columns = [...kept, ...ignored, ...attributes.map(({ key }) => key)];
  return names.some((name) => columns.includes(name));
}

/** Returns the header line of an export. */
export function csvHeader(attributes: readonly Attribute[]): string {
  return `${[...kept, ...attributes.map(({ key }) => key)].join(',')}\r\n`;
}

/** Formats a document as a CSV line. */
export function csvLine(document: Readonly<Record<string, unknown>>, attributes: readonly Attribute[]): string {
  const cells = [...kept, ...attributes.map(({ key }) => key)].map((name) => cellOf(document[name]));
  return `${cells.join(',')}\r\n`;
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : printJson(value);
  return text === '' ? '""' : csvCell(text);
}

function columnsOf(names: readonly (string | null)[], attributes: ReadonlyMap<string, Attribute>): readonly string[] {
  const columns = names.map((name) => name ?? '');
  const known = (name: string) => attributes.has(name) || [...kept, ...ignored].includes(name);
  const unknown = columns.find((name) => !known(name));
  if (unknown !== undefined)
    throw usageError(
      `The column "${unknown.slice(0, 40)}" is no attribute of the collection.`,
      unknown.includes(';')
        ? 'separate the columns by commas'
        : idNames.has(unknown)
          ? `if it has the ids of the documents, name the column $id instead of ${unknown}`
          : 'correct the first line of the file; svc collection show lists the attributes',
    );
  if (new Set(columns).size < columns.length)
    throw usageError('The first line of the file names a column twice.', 'correct it');
  return columns;
}

function documentOf(
  columns: readonly string[],
  cells: readonly (string | null)[],
  attributes: ReadonlyMap<string, Attribute>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    columns.flatMap((name, at) => {
      const found = cellValue(name, cells[at] ?? null, attributes);
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

/** Parses a cell. A value that does not fit its attribute is left as text, so that validation rejects it. */
function cellValue(name: string, cell: string | null, attributes: ReadonlyMap<string, Attribute>): unknown {
  const attribute = attributes.get(name);
  if (attribute === undefined) {
    if (ignored.includes(name) || cell === null) return undefined;
    return name === '$permissions' ? json(cell) : cell;
  }
  if (cell === null) return null;
  if (attribute.array) return json(cell);
  switch (attributeTypes[attribute.type].column) {
    case 'integer':
      return /^-?\d{1,40}$/.test(cell) ? json(cell) : cell;
    case 'double':
      return cell.trim() !== '' && Number.isFinite(Number(cell)) ? Number(cell) : cell;
    case 'boolean':
      return cell === 'true' || (cell === 'false' ? false : cell);
    default:
      return cell;
  }
}

function json(cell: string): unknown {
  try {
    return parseJson(cell);
  } catch {
    return cell;
  }
}
