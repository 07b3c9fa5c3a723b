import { parseJson } from '#src/platform/json.js';
import { type CommandError, usageError } from '../exit.js';
import type { DocumentRecord } from './record.js';
import { decodeUtf8 } from './utf8.js';

const newline = 0x0a;
/** A first line that is looked at for the names of columns. */
const headerBytes = 65_536;

/** Reads JSON objects, one a line; a file whose first line is that of another form is refused. A line beyond a length is not kept, so that no file takes more memory than its longest line may. */
export async function* ndjsonRecords(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  isOtherForm: (line: string) => boolean,
): AsyncGenerator<DocumentRecord, void, undefined> {
  let isBegun = false;
  for await (const { line, bytes, text } of linesOf(chunks, maxBytes)) {
    if (!isBegun && text !== undefined && text.length > 0) {
      isBegun = true;
      if (/^\s*\[/.test(text.toString('latin1', 0, 100))) throw anArray();
      if (text.length < headerBytes && isOtherForm(text.toString('utf8'))) throw csv();
    }
    if (text === undefined) yield { line, bytes, problem: `The line has more than ${maxBytes} bytes.` };
    else if (text.length > 0) yield { line, bytes, ...parsed(text) };
  }
}

/** Parts of an array may be lines of their own by chance, so none is taken. */
function anArray(): CommandError {
  return usageError(
    'The file is a JSON array; an object a line is needed.',
    `make it so, such as with jq -c '.[]' FILE`,
  );
}

function csv(): CommandError {
  return usageError('The file is CSV, and was read as JSON objects, one a line.', 'add --format csv');
}

interface Line {
  readonly line: number;
  readonly bytes: number;
  /** Undefined where it was too long. */
  readonly text: Buffer | undefined;
}

async function* linesOf(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line, void, undefined> {
  let pieces: Buffer[] = [];
  let [line, bytes] = [1, 0];
  const add = (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= maxBytes) pieces.push(piece);
    else pieces = [];
  };
  const take = (): Line => {
    const taken = { line, bytes, text: bytes <= maxBytes ? Buffer.concat(pieces) : undefined };
    pieces = [];
    line += 1;
    bytes = 0;
    return taken;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    add(chunk.subarray(from));
  }
  if (bytes > 0) yield take();
}

function parsed(bytes: Buffer): Pick<DocumentRecord, 'value' | 'problem'> {
  const text = decodeUtf8(bytes)?.trim();
  if (text === undefined) return { problem: 'The line is not UTF-8.' };
  // An empty line is none.
  if (text === '') return {};
  try {
    const value = parseJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as Record<string, unknown> };
  } catch {
    // It is no JSON, and so no object either.
  }
  return { problem: 'The line is not a JSON object.' };
}
