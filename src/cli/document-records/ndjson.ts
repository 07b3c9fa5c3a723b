import { parseJson } from '#src/platform/text/json.js';
import { type CommandError, usageError } from '../terminal/exit.js';
import type { DocumentRecord } from './record.js';
import { decodeUtf8 } from './utf8.js';

const newline = 0x0a;
/** Maximum length of a first line that is checked for column names. */
const headerBytes = 65_536;

/**
 * Reads JSON objects, one per line. Rejects a file if its first line has another format. Discards lines over the limit, so that memory use
 * is bounded by the longest allowed line.
 */
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

/** Rejects arrays: some of their lines may happen to be valid objects, so no line is imported. */
function anArray(): CommandError {
  return usageError('The file is a JSON array; expected one JSON object per line.', `convert it with jq -c '.[]' FILE`);
}

function csv(): CommandError {
  return usageError('The file is CSV, but was read as one JSON object per line.', 'add --format csv');
}

interface Line {
  readonly line: number;
  readonly bytes: number;
  /** Undefined if the line is too long. */
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
  // Skip empty lines.
  if (text === '') return {};
  try {
    const value = parseJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as Record<string, unknown> };
  } catch {
    // Invalid JSON is reported below.
  }
  return { problem: 'The line is not a JSON object.' };
}
