import type { IncomingMessage } from 'node:http';
import { Failure } from '#src/contract/errors.js';
import { formFields, jsonLimits } from '#src/contract/limits.js';
import { refusedMembers } from '#src/contract/shapes.js';
import { JsonTooLarge, NumberTooLarge, readJson } from '#src/platform/text/json.js';
import type { BodyBudget } from './body-budget.js';

/** True if a request carries a body (RFC 9112 §6). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers;
  return (length !== undefined && length !== '0') || transfer !== undefined;
}

/** True if a Content-Type is JSON in UTF-8. Parameters other than `charset` have no meaning (RFC 8259 §11). */
export function isJson(contentType: string): boolean {
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset'));
  return type === 'application/json' && charsets.every((charset) => /^charset\s*=\s*"?utf-?8"?$/.test(charset));
}

/** True if a Content-Encoding leaves the bytes unchanged. */
export function isPlain(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === 'identity';
}

/** The media type of forms. */
export const formType = 'application/x-www-form-urlencoded';

function isForm(contentType: string): boolean {
  return contentType.split(';')[0]?.trim().toLowerCase() === formType;
}

/** Reads a JSON or form body of at most `maxBytes`; undefined if there is none. Throws Failure. */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, form }: { readonly maxBytes: number; readonly form: boolean },
  share: BodyBudget,
): Promise<unknown> {
  const { 'content-length': length, 'content-type': type = '', 'content-encoding': encoding } = request.headers;
  if (!hasBody(request)) return undefined;
  if (!(form ? isForm(type) : isJson(type)) || !isPlain(encoding))
    throw new Failure(
      'general_media_type_unsupported',
      form ? { message: `This route only accepts ${formType}.` } : {},
    );
  if (Number(length ?? 0) > maxBytes) throw new Failure('general_body_too_large');
  const bytes = await readBytes(request, maxBytes, share);
  return form ? parseForm(bytes) : parseBody(bytes, share);
}

function readBytes(request: IncomingMessage, maxBytes: number, share: BodyBudget): Promise<Buffer> {
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

function parseBody(bytes: Buffer, share: BodyBudget): unknown {
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(bytes);
    if (text.trim() === '') return undefined;
    value = readJson(text, { admit: (members) => share.weigh(members) });
  } catch (error) {
    throw error instanceof Failure ? error : refused(problemOf(error));
  }
  // Unescaped NUL and lone surrogates are already rejected by the JSON parser and the UTF-8 decoder.
  inspect(value, text.includes('\\u'));
  return value;
}

function problemOf(error: unknown): string {
  if (error instanceof NumberTooLarge)
    return 'The body has a number that cannot be kept: at most 1000 digits, and not beyond the largest double.';
  if (!(error instanceof JsonTooLarge)) return 'The body is not valid JSON in UTF-8.';
  return error.bound === 'keys'
    ? `The body has more than ${jsonLimits.keys} members.`
    : `The body nests deeper than ${jsonLimits.depth} levels.`;
}

/** Parses the fields of a form. A repeated field becomes a list, which every schema of a text rejects. */
function parseForm(bytes: Buffer): unknown {
  const fields: Record<string, string | string[]> = {};
  const text = bytes.toString('utf8');
  if (text.split('&', formFields + 1).length > formFields)
    throw refused(`The form has more than ${formFields} fields.`);
  for (const [name, value] of new URLSearchParams(text)) {
    if (refusedMembers.has(name)) throw refused(`The body has a member that is not allowed: ${name}.`);
    fields[name] = Object.hasOwn(fields, name) ? [fields[name] ?? '', value].flat() : value;
  }
  inspect(fields, true);
  return fields;
}

/** Walks a value of bounded size. Rejects keys that reach a prototype and, if the text has escapes, strings that a database rejects. */
function inspect(value: unknown, escapes: boolean): void {
  if (typeof value === 'string') {
    if (escapes) requirePlainText(value);
  } else if (Array.isArray(value)) for (const inner of value) inspect(inner, escapes);
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      if (refusedMembers.has(key)) throw refused(`The body has a member that is not allowed: ${key}.`);
      if (escapes) requirePlainText(key);
      inspect(inner, escapes);
    }
}

function requirePlainText(value: string): void {
  if (value.includes('\0') || !value.isWellFormed())
    throw refused('Text must not hold NUL characters or lone surrogates.');
}

function refused(message: string): Failure {
  return new Failure('general_argument_invalid', { message });
}
