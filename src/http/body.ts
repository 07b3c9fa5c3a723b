import type { IncomingMessage } from 'node:http';
import { Failure } from '#src/contract/errors.js';
import { formFields, jsonLimits } from '#src/contract/limits.js';
import { refusedMembers } from '#src/contract/shapes.js';
import { NumberTooLarge, parseJson } from '#src/platform/json.js';
import type { BodyShare } from './body-room.js';

/** Whether a request carries a body (RFC 9112 §6). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers;
  return (length !== undefined && length !== '0') || transfer !== undefined;
}

/** Whether a Content-Type is JSON in UTF-8. */
export function isJson(contentType: string): boolean {
  return /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType);
}

/** The media type of forms. */
export const formType = 'application/x-www-form-urlencoded';

/** Whether a Content-Type is that of a form. */
function isForm(contentType: string): boolean {
  return contentType.split(';')[0]?.trim().toLowerCase() === formType;
}

/** Reads a body, JSON or a form, of at most `maxBytes`; undefined where there is none. Throws Failure. */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, form }: { readonly maxBytes: number; readonly form: boolean },
  share: BodyShare,
): Promise<unknown> {
  const { 'content-length': length, 'content-type': type = '', 'content-encoding': encoding } = request.headers;
  if (!hasBody(request)) return undefined;
  if (!(form ? isForm(type) : isJson(type)) || (encoding !== undefined && encoding !== 'identity'))
    throw new Failure(
      'general_media_type_unsupported',
      form ? { message: `This route only accepts ${formType}.` } : {},
    );
  if (Number(length ?? 0) > maxBytes) throw new Failure('general_body_too_large');
  const bytes = await readBytes(request, maxBytes, share);
  return form ? parseForm(bytes) : parseBody(bytes);
}

function readBytes(request: IncomingMessage, maxBytes: number, share: BodyShare): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: unknown): void => {
      request.removeAllListeners('data');
      request.resume();
      chunks.length = 0;
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        refuse(new Failure('general_body_too_large'));
        return;
      }
      try {
        share.grow(size);
        chunks.push(chunk);
      } catch (error) {
        refuse(error);
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
  } catch (error) {
    throw refused(
      error instanceof NumberTooLarge
        ? 'The body has a number that cannot be kept: at most 1000 digits, and not beyond the largest double.'
        : 'The body is not valid JSON in UTF-8.',
    );
  }
  // JSON and UTF-8 refuse NUL and lone surrogates unless they are escaped.
  inspect(value, 1, { keys: 0, escapes: text.includes('\\u') });
  return value;
}

/** The fields of a form; one that stands twice is a list, which no schema takes for a text. */
function parseForm(bytes: Buffer): unknown {
  const fields: Record<string, string | string[]> = {};
  const sent = new URLSearchParams(bytes.toString('utf8'));
  if (sent.size > formFields) throw refused(`The form has more than ${formFields} fields.`);
  for (const [name, value] of sent) {
    if (refusedMembers.has(name)) throw refused(`The body has a member that is not allowed: ${name}.`);
    fields[name] = Object.hasOwn(fields, name) ? [fields[name] ?? '', value].flat() : value;
  }
  inspect(fields, 1, { keys: 0, escapes: true });
  return fields;
}

/** The number of members so far, and whether texts may hold escaped characters. */
interface Seen {
  keys: number;
  readonly escapes: boolean;
}

/** Walks the whole value once and bounds its depth and number of keys; refuses keys that reach a prototype, and text that a database refuses. */
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
    if (refusedMembers.has(key)) throw refused(`The body has a member that is not allowed: ${key}.`);
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
