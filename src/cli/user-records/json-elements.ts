import { parseJson } from '#src/platform/text/json.js';
import type { DocumentRecord as UserRow } from '../document-records/index.js';
import { decodeUtf8 } from '../document-records/utf8.js';

const byteOf = (character: string) => character.charCodeAt(0);
const [quote, backslash, newline] = [byteOf('"'), byteOf('\\'), byteOf('\n')];
const opening = new Set([byteOf('{'), byteOf('[')]);
const closing = new Set([byteOf('}'), byteOf(']')]);
const colon = byteOf(':');
/** Longest name of a member that is compared. */
const nameBytes = 64;

/**
 * Reads the objects of a JSON array, or of an array in a member of a JSON object, one by one. Only the current object is in memory, and not
 * even that if it is over the limit.
 */
export async function* jsonElements(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  members: ReadonlySet<string>,
): AsyncGenerator<UserRow, void, undefined> {
  const scan = new Scan(maxBytes, members);
  for await (const chunk of chunks) yield* scan.read(chunk);
  const last = scan.end();
  if (last !== undefined) yield last;
}

/** The state of reading a JSON text byte by byte. */
class Scan {
  readonly #maxBytes: number;
  readonly #members: ReadonlySet<string>;
  /** Depth of the elements: 1 in an array, 2 in an array of a member; undefined before the first bracket. */
  #level: 1 | 2 | undefined;
  #depth = 0;
  #line = 1;
  #inString = false;
  #escaped = false;
  /** The last string at the first level of an object, and the last name of a member there. */
  #text: number[] = [];
  #name = '';
  /** Pieces of the element that is read; undefined between elements. */
  #pieces: Buffer[] | undefined;
  #bytes = 0;
  #begins = 1;

  constructor(maxBytes: number, members: ReadonlySet<string>) {
    this.#maxBytes = maxBytes;
    this.#members = members;
  }

  *read(chunk: Buffer): Generator<UserRow, void, undefined> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte === newline) this.#line += 1;
      if (this.#inString) this.#inText(byte);
      else if (byte === quote) {
        this.#inString = true;
        this.#text = [];
      } else if (byte === colon && this.#depth === 1) this.#name = Buffer.from(this.#text).toString();
      else if (opening.has(byte)) {
        if (this.#isElement(byte)) {
          this.#pieces = [];
          this.#bytes = 0;
          this.#begins = this.#line;
          from = at;
        }
        this.#level ??= byte === byteOf('[') ? 1 : 2;
        this.#depth += 1;
      } else if (closing.has(byte)) {
        this.#depth -= 1;
        if (this.#pieces === undefined || this.#depth !== this.#level) continue;
        this.#add(chunk.subarray(from, at + 1));
        yield this.#element();
      }
    }
    if (this.#pieces !== undefined) this.#add(chunk.subarray(from));
  }

  /** A problem if the text ends too early. */
  end(): UserRow | undefined {
    const problem = this.#level === undefined ? 'The file has no JSON.' : 'The file ends before its JSON does.';
    return this.#level !== undefined && this.#depth === 0 ? undefined : { line: this.#line, bytes: 0, problem };
  }

  #inText(byte: number): void {
    if (this.#depth === 1 && this.#text.length < nameBytes) this.#text.push(byte);
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) {
      this.#inString = false;
      if (this.#depth === 1) this.#text.pop();
    }
  }

  #isElement(byte: number): boolean {
    if (byte !== byteOf('{') || this.#pieces !== undefined || this.#depth !== this.#level) return false;
    return this.#level === 1 || this.#members.has(this.#name);
  }

  #add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes <= this.#maxBytes) this.#pieces?.push(Buffer.from(piece));
    else this.#pieces = [];
  }

  #element(): UserRow {
    const place = { line: this.#begins, bytes: this.#bytes };
    const pieces = this.#pieces ?? [];
    this.#pieces = undefined;
    if (this.#bytes > this.#maxBytes) return { ...place, problem: `The user has more than ${this.#maxBytes} bytes.` };
    const text = decodeUtf8(Buffer.concat(pieces));
    if (text === undefined) return { ...place, problem: 'The user is not UTF-8.' };
    try {
      return { ...place, value: parseJson(text) as Record<string, unknown> };
    } catch {
      return { ...place, problem: 'The user is not a JSON object.' };
    }
  }
}
