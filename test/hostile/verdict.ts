// What is wrong with an answer, if anything, and findings without their repetitions.
import { type ErrorType, errorCatalog } from '#src/contract/errors.js';
import type { Judge } from '../harness/answers.js';
import type { Received } from './wire.js';

/** What nobody outside may read: parts of stacks, of SQL, and names of what lies below. */
const internals =
  /\n\s+at \S|node_modules|\/src\/|\bSQLITE_|\bERR_[A-Z]+_|\bselect .+ from\b|\binsert into\b|\bupdate \S+ set\b|\bknex\b|\bsyntax error at or near\b|\bECONN/i;
const types: Readonly<Record<string, { readonly status: number }>> = errorCatalog;

type Json = Record<string, unknown>;

/** The request that was answered, as far as the verdict depends on it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
}

/** Errors as REST and GraphQL carry them. */
function errorsOf({ status, text }: Received): Json[] {
  if (text === '' || (!text.startsWith('{') && !text.startsWith('['))) return [];
  const body: unknown = JSON.parse(text);
  if (status >= 400 && !('errors' in Object(body))) return [Object(body)];
  const answers = Array.isArray(body) ? body : [body];
  return answers.flatMap((one) => {
    const errors: unknown = Object(one).errors;
    return Array.isArray(errors) && errors.every((error) => 'extensions' in Object(error))
      ? errors.map((error) => ({ ...error.extensions, message: error.message }))
      : [];
  });
}

/** What is wrong with one error. */
function errorProblem({ type, code, message }: Json): string | undefined {
  const known = types[String(type)];
  if (known === undefined) return `error of type ${type}, which the catalog does not have`;
  if (known.status !== code) return `error ${type} with code ${code}`;
  if (Number(code) >= 500 && Number(code) !== 503) return `${code} ${type}`;
  if (internals.test(String(message))) return `the message tells what lies below: ${String(message).slice(0, 200)}`;
  return undefined;
}

/** Errors that say for how long to wait; an installation without SMS cannot say when it will have it. */
const isWithoutWait = (type: unknown): boolean => type === ('general_phone_disabled' satisfies ErrorType);

function headerProblem(
  { method }: Asked,
  { status, headers, size }: Received,
  errors: readonly Json[],
): string | undefined {
  if (!headers['x-request-id']) return 'no X-Request-Id';
  if (headers['x-content-type-options'] !== 'nosniff') return 'no X-Content-Type-Options';
  const waits = status === 429 || (status === 503 && !errors.some(({ type }) => isWithoutWait(type)));
  if (waits && method !== 'HEAD' && !/^[1-9]\d*$/.test(headers['retry-after'] ?? ''))
    return `${status} without Retry-After`;
  if (status === 405 && !headers.allow) return '405 without Allow';
  const length = headers['content-length'];
  if (method !== 'HEAD' && length !== undefined && Number(length) !== size) return 'a wrong Content-Length';
  return undefined;
}

/** What is wrong with an answer; undefined where nothing is. `secrets` are texts that this caller must never read. */
export function problemOf(
  judge: Judge,
  asked: Asked,
  received: Received,
  secrets: readonly string[],
): string | undefined {
  const { status, headers, text } = received;
  if (status >= 500 && status !== 503) return `status ${status}`;
  const leaked = secrets.find((secret) => text.includes(secret));
  if (leaked !== undefined) return 'the answer holds what belongs to another project';
  // A method that Node's parser does not know, or a head that is too large, never becomes a request.
  if (
    headers.connection === 'close' &&
    (status === 400 || status === 431) &&
    judge.problem({ ...asked, status, headers, body: text })
  )
    return headers['x-request-id'] ? undefined : 'no X-Request-Id';
  let errors: Json[];
  try {
    errors = errorsOf(received);
  } catch {
    return 'the body is not JSON';
  }
  const wrong = errors.map(errorProblem).find((problem) => problem !== undefined);
  return wrong ?? headerProblem(asked, received, errors) ?? judge.problem({ ...asked, status, headers, body: text });
}

/** A finding, told once however often it was made. */
export interface Finding {
  readonly problem: string;
  /** How it can be made again. */
  reproduction: string;
  times: number;
}

/** Collects findings. */
export function createFindings() {
  const found = new Map<string, Finding>();
  return {
    /** Whether this one is new. */
    isNew: (signature: string): boolean => !found.has(signature),
    add: (signature: string, problem: string): void => {
      const known = found.get(signature);
      if (known === undefined) found.set(signature, { problem, reproduction: '', times: 1 });
      else known.times += 1;
    },
    /** Says how it can be made again. */
    explain: (signature: string, reproduction: string): void => {
      const known = found.get(signature);
      if (known !== undefined) known.reproduction = reproduction;
    },
    list: (): readonly Finding[] => [...found.values()],
  };
}

/** The same problem of the same operation gives the same text, whatever the values were. */
export function signatureOf(operation: string, problem: string): string {
  const [first = ''] = problem.split('\n');
  return `${operation} ${first
    .replace(/^\S+ \S+ (?=\d{3}: )/, '')
    .replace(/"[^"]*"/g, '"…"')
    .slice(0, 120)}`;
}
