import type { IncomingMessage } from 'node:http';
import { Failure } from '#src/contract/errors.js';
import { jsonLimits } from '#src/contract/limits.js';
import { parseJson } from '#src/platform/json.js';
import { isJson } from './origins.js';

/** Keys that reach the prototype of an object when they are assigned carelessly. */
const refusedKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Reads a JSON body of at most so many bytes; undefined where there is none. Throws Failure. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const {
    'content-length': length,
    'transfer-encoding': transfer,
    'content-type': type = '',
    'content-encoding': encoding,
  } = request.headers;
  if ((length === undefined || length === '0') && transfer === undefined) return undefined;
  if (!isJson(type) || (encoding !== undefined && encoding !== 'identity'))
    throw new Failure('general_media_type_unsupported');
  if (Number(length ?? 0) > maxBytes) throw new Failure('general_body_too_large');
  return parseBody(await readBytes(request, maxBytes));
}

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        request.removeAllListeners('data');
        request.resume();
        reject(new Failure('general_body_too_large'));
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    request.on('error', (cause) =>
      reject(new Failure('general_argument_invalid', { message: 'The body broke off.', cause })),
    );
  });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function parseBody(bytes: Buffer): unknown {
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(bytes);
    if (text.trim() === '') return undefined;
    value = parseJson(text);
  } catch {
    throw refused('The body is not valid JSON in UTF-8.');
  }
  // JSON and UTF-8 refuse NUL and lone surrogates as they stand; only an escape can bring them in.
  inspect(value, 1, { keys: 0, escapes: text.includes('\\u') });
  return value;
}

/** How many members were seen, and whether texts may hold what was escaped. */
interface Seen {
  keys: number;
  readonly escapes: boolean;
}

/** Walks the whole value once: bounded depth and number of keys, no key that reaches a prototype, no text a database refuses. */
function inspect(value: unknown, depth: number, seen: Seen): void {
  if (typeof value === 'string') inspectText(value, seen);
  if (typeof value !== 'object' || value === null) return;
  if (depth > jsonLimits.depth) throw refused(`The body nests deeper than ${jsonLimits.depth} levels.`);
  if (Array.isArray(value)) {
    for (const inner of value) {
      count(seen);
      inspect(inner, depth + 1, seen);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    count(seen);
    if (refusedKeys.has(key)) throw refused(`The body has a member that is not allowed: ${key}.`);
    inspectText(key, seen);
    inspect((value as Record<string, unknown>)[key], depth + 1, seen);
  }
}

function count(seen: Seen): void {
  seen.keys += 1;
  if (seen.keys > jsonLimits.keys) throw refused(`The body has more than ${jsonLimits.keys} members.`);
}

function inspectText(value: string, { escapes }: Seen): void {
  if (escapes && (value.includes('\0') || !value.isWellFormed()))
    throw refused('Text must not hold NUL characters or lone surrogates.');
}

function refused(message: string): Failure {
  return new Failure('general_argument_invalid', { message });
}
