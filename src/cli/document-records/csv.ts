import { type Attribute, attributeTypes } from '#src/features/index.js';
import { parseJson, printJson } from '#src/platform/json.js';
import { usageError } from '../exit.js';
import { csvRows } from './csv-rows.js';
import type { DocumentRecord } from './record.js';

/** Members of every document that a file keeps, and those that the new place decides. */
const kept = ['$id', '$createdAt', '$updatedAt', '$permissions'] as const;
const ignored = ['$sequence', '$collectionId', '$databaseId'];

/**
 * Reads CSV as RFC 4180 has it: the first line names the columns. A cell without a quote that is empty is null, an empty one in quotes the
 * empty text; lists and permissions are JSON.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Buffer>,
  attributes: readonly Attribute[],
  maxBytes: number,
): AsyncGenerator<DocumentRecord, void, undefined> {
  const byKey = new Map(attributes.map((attribute) => [attribute.key, attribute]));
  let columns: readonly string[] | undefined;
  for await (const { line, bytes, cells, problem } of csvRows(chunks, maxBytes)) {
    if (columns === undefined) {
      if (cells === undefined) throw usageError(`The first line of the file cannot be read. ${problem}`, 'correct it');
      columns = columnsOf(cells, byKey);
      continue;
    }
    if (cells === undefined) yield { line, bytes, problem: problem ?? 'The line is no CSV.' };
    else if (cells.length !== columns.length)
      yield { line, bytes, problem: `The line has ${cells.length} cells, and the first line ${columns.length}.` };
    else yield { line, bytes, value: documentOf(columns, cells, byKey) };
  }
}

/** Whether a line of a file that is read in another form is the first one of CSV: names, of which at least one is a column. */
export function isCsvHeader(line: string, attributes: readonly Attribute[]): boolean {
  if (!/^[\w$",; .-]+\r?$/.test(line)) return false;
  const names = line.split(/[,;]/).map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
  const columns = [...kept, ...ignored, ...attributes.map(({ key }) => key)];
  return names.some((name) => columns.includes(name));
}

/** The first line of an export. */
export function csvHeader(attributes: readonly Attribute[]): string {
  return `${[...kept, ...attributes.map(({ key }) => key)].join(',')}\r\n`;
}

/** A document as a line of CSV. */
export function csvLine(document: Readonly<Record<string, unknown>>, attributes: readonly Attribute[]): string {
  const cells = [...kept, ...attributes.map(({ key }) => key)].map((name) => cellOf(document[name]));
  return `${cells.join(',')}\r\n`;
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : printJson(value);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
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

/** What a cell says; one that is no value of its attribute is left as it is, and refused as such. */
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
