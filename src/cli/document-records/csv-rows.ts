import { usageError } from '../terminal/exit.js';
import type { DocumentRecord } from './record.js';
import { decodeUtf8 } from './utf8.js';

const [quote, comma, newline] = [0x22, 0x2c, 0x0a];

/** A CSV row: its cells or its problem. */
interface CsvRow {
  /** The last line of a multi-line row. */
  readonly line: number;
  readonly bytes: number;
  /** An empty cell without quotes is null. */
  readonly cells?: readonly (string | null)[];
  readonly problem?: string;
}

/** Parser state within a row. */
type State = 'begin of a cell' | 'in a cell' | 'in quotes' | 'after a quote';

/**
 * Reads rows of RFC 4180 and skips empty lines. An invalid or too long row does not affect the next one. The contents of a row over the
 * limit are discarded.
 */
async function* csvRows(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<CsvRow, void, undefined> {
  let pieces: Buffer[] = [];
  let [line, opened, bytes] = [1, 1, 0];
  let state: State = 'begin of a cell';
  const add = (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= maxBytes) pieces.push(piece);
    else pieces = [];
  };
  const take = (problem?: string): CsvRow => {
    const tooLong = bytes > maxBytes ? `The line has more than ${maxBytes} bytes.` : undefined;
    const wrong = problem ?? tooLong;
    const row = { line, bytes, ...(wrong === undefined ? parsed(Buffer.concat(pieces)) : { problem: wrong }) };
    pieces = [];
    bytes = 0;
    state = 'begin of a cell';
    return row;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte !== newline) {
        if (state === 'begin of a cell') opened = line;
        state = after(state, byte);
        continue;
      }
      if (state !== 'in quotes') {
        add(chunk.subarray(from, at));
        from = at + 1;
        const row = take();
        if (!isEmpty(row)) yield row;
      }
      line += 1;
    }
    add(chunk.subarray(from));
  }
  if (state === 'in quotes')
    yield take(`The quote that line ${opened} opens is not closed, so what follows it cannot be read.`);
  else if (bytes > 0) {
    const row = take();
    if (!isEmpty(row)) yield row;
  }
}

/** Reads rows of a file whose first line has the names of the columns. `toValue` gets the cells of a row, one for each column. */
export async function* csvValues(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  columnsOf: (cells: readonly (string | null)[]) => readonly string[],
  toValue: (columns: readonly string[], cells: readonly (string | null)[]) => NonNullable<DocumentRecord['value']>,
): AsyncGenerator<DocumentRecord, void, undefined> {
  let columns: readonly string[] | undefined;
  for await (const { line, bytes, cells, problem } of csvRows(chunks, maxBytes)) {
    if (columns === undefined) {
      if (cells === undefined) throw usageError(`The first line of the file cannot be read. ${problem}`, 'correct it');
      columns = columnsOf(cells);
    } else if (cells === undefined) yield { line, bytes, problem: problem ?? 'The line is no CSV.' };
    else if (cells.length !== columns.length)
      yield { line, bytes, problem: `The line has ${cells.length} cells, and the first line ${columns.length}.` };
    else yield { line, bytes, value: toValue(columns, cells) };
  }
}

/** Formats the text of a cell. */
export function csvCell(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function after(state: State, byte: number | undefined): State {
  if (state === 'in quotes') return byte === quote ? 'after a quote' : 'in quotes';
  if (byte === comma) return 'begin of a cell';
  return byte === quote && state !== 'in a cell' ? 'in quotes' : 'in a cell';
}

const isEmpty = ({ cells }: CsvRow) => cells?.length === 1 && cells[0] === null;

/** Parses the cells of a row with balanced quotes. */
function parsed(row: Buffer): Pick<CsvRow, 'cells' | 'problem'> {
  const text = decodeUtf8(row)?.replace(/\r$/, '');
  if (text === undefined) return { problem: 'The line is not UTF-8.' };
  const cells: (string | null)[] = [];
  for (let at = 0; ; at++) {
    let end: number;
    if (text[at] === '"') {
      end = endOfQuotes(text, at + 1);
      cells.push(text.slice(at + 1, end).replaceAll('""', '"'));
      end += 1;
      if (end < text.length && text[end] !== ',') return { problem: 'A closing quote has text after it.' };
    } else {
      const next = text.indexOf(',', at);
      end = next < 0 ? text.length : next;
      cells.push(end === at ? null : text.slice(at, end));
    }
    if (end >= text.length) return { cells };
    at = end;
  }
}

/** Finds the closing quote, which is not followed by another quote. */
function endOfQuotes(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end < 0 ? text.length : end;
}
