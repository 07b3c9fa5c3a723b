import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import { describeNetworkError } from '#src/platform/outbound/network-errors.js';
import { retry } from '#src/platform/runtime/retry.js';
import { parseJson } from '#src/platform/text/json.js';
import { type CommandError, unreachableError } from '../../terminal/exit.js';

/** An answer of the API. */
export type Json = Readonly<Record<string, unknown>>;

/** A query as the API takes it, such as `{"method":"limit","values":[100]}`. */
interface ApiQuery {
  readonly method: string;
  readonly attribute?: string;
  readonly values?: readonly unknown[];
}

/** A request that the API refuses. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.type = type;
  }
}

/** The project of the source and its server key. */
export interface ApiAccess {
  readonly endpoint: string;
  readonly projectId: string;
  readonly key: string;
  readonly signal: AbortSignal;
}

/** The type of an ApiError for an answer that is none of the API, such as a page of a proxy. */
export const foreignAnswer = 'foreign_answer';

/** Requirements of an answer. */
interface Expected {
  /** The name of its list. */
  readonly list?: string;
  /** Makes no other attempt after an answer that is none of the API. */
  readonly once?: boolean;
}

/** Reads from the REST API of Appwrite or svc. Repeats requests after 429, 5xx, broken connections and answers that are none of the API. */
export interface ApiClient {
  /** Throws ApiError, or CommandError if there is no answer. `characters` is the length of the answer. */
  get(
    path: string,
    queries?: readonly ApiQuery[],
    expected?: Expected,
  ): Promise<{ readonly body: Json; readonly characters: number }>;
  /** Opens a file. Throws Failure. */
  download(path: string): Promise<AsyncIterable<Uint8Array>>;
}

const attempts = 8;
const [firstDelayMs, longestDelayMs, longestRetryAfterMs] = [500, 30_000, 300_000];
const answerMs = 120_000;
/** Attempts after an answer that is none of the API, if all attempts for an earlier list ended with such answers. */
const laterAttempts = 3;

/** Creates the client of a project. */
export function createApiClient(access: ApiAccess): ApiClient {
  let foreignAttempts = attempts;
  return {
    get: async (path, queries = [], { list, once = false } = {}) => {
      const isOfApi = (status: number, text: string) => {
        const body = objectOf(text);
        if (status >= 300) return typeof body?.type === 'string';
        return body !== undefined && (list === undefined || Array.isArray(body[list]));
      };
      const answer = await send(access, path, queries, {
        read: async (response) => response.text(),
        isOfApi,
        foreignAttempts: once ? 1 : foreignAttempts,
      });
      const body = objectOf(answer.content);
      if (answer.status < 300 && body !== undefined && isOfApi(answer.status, answer.content))
        return { body, characters: answer.content.length };
      const error = errorOf(answer.status, body);
      if (error.type === foreignAnswer && !once) foreignAttempts = laterAttempts;
      throw error;
    },
    download: async (path) => {
      try {
        const answer = await send<string | Response>(access, path, [], {
          read: async (response) => (response.ok && response.body !== null ? response : response.text()),
          isOfApi: (_, content) => typeof content !== 'string' || objectOf(content)?.type !== undefined,
          foreignAttempts: laterAttempts,
        });
        if (typeof answer.content !== 'string') {
          reading.add(answer.content);
          return chunksOf(answer.content);
        }
        throw errorOf(answer.status, objectOf(answer.content));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        throw new Failure('storage_file_not_found', { message: `The source does not send the file: ${error.message}` });
      }
    },
  };
}

interface Answer<T> {
  readonly status: number;
  readonly content: T;
}

/** How an answer is read and judged. */
interface Reading<T> {
  read(response: Response): Promise<T>;
  isOfApi(status: number, content: T): boolean;
  /** Attempts for answers that are none of the API. The last one is returned. */
  readonly foreignAttempts: number;
}

/** Sends a request until it is answered. Only the last attempt throws. */
function send<T>(
  { endpoint, projectId, key, signal }: ApiAccess,
  path: string,
  queries: readonly ApiQuery[],
  { read, isOfApi, foreignAttempts }: Reading<T>,
): Promise<Answer<T>> {
  const url = new URL(endpoint + path);
  for (const query of queries) url.searchParams.append('queries[]', JSON.stringify(query));
  const headers = { 'X-Appwrite-Project': projectId, 'X-Appwrite-Key': key, Accept: 'application/json, */*' };
  return retry(
    async (attempt) => {
      // Limits the time until the answer, not that of a download.
      const ending = new AbortController();
      const timer = setTimeout(() => ending.abort(), answerMs);
      try {
        // A redirect would pass the key on to another host.
        const request = { headers, redirect: 'manual', signal: AbortSignal.any([signal, ending.signal]) } as const;
        const response = await fetch(url, request);
        const { status } = response;
        if (status !== 429 && status < 500) {
          const content = await read(response);
          if (isOfApi(status, content) || attempt >= foreignAttempts) return { status, content };
        } else await response.body?.cancel();
        throw new UnusableAnswer(status, retryAfter(response.headers.get('retry-after')));
      } finally {
        clearTimeout(timer);
      }
    },
    async (error, attempt) => {
      signal.throwIfAborted();
      const problem = problemOf(error);
      if (attempt === attempts || (attempt === 3 && isHopeless(problem))) throw unreachable(url, problem);
      const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1));
      await sleep((error instanceof UnusableAnswer ? error.waitMs : undefined) ?? delayMs, undefined, { signal });
      return true;
    },
  );
}

/** An answer after which the request is sent again. */
class UnusableAnswer extends Error {
  readonly waitMs: number | undefined;

  constructor(status: number, waitMs: number | undefined) {
    super(`it answers with status ${status}`);
    this.waitMs = waitMs;
  }
}

function problemOf(error: unknown): string {
  if (error instanceof UnusableAnswer) return error.message;
  return describeNetworkError(error instanceof Error && error.cause instanceof Error ? error.cause : error);
}

/** True for problems that waiting does not solve. */
function isHopeless(problem: string): boolean {
  return /refused|resolve|TLS|not HTTP|call failed/.test(problem);
}

/** The seconds of `Retry-After` in milliseconds; undefined for anything else. */
function retryAfter(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header) ? Math.min(longestRetryAfterMs, Number(header) * 1000) : undefined;
}

function unreachable({ origin }: URL, problem: string): CommandError {
  const fix = 'check --endpoint and the server there, then run the command again; it goes on where it ended';
  return unreachableError('source_unreachable', `${origin} cannot be read: ${problem}.`, fix);
}

function objectOf(text: string): Json | undefined {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function errorOf(status: number, body: Json | undefined): ApiError {
  const { type, message } = body ?? {};
  if (status < 300 || typeof type !== 'string')
    return new ApiError(status, foreignAnswer, `The answer is not one of the API (status ${status}).`);
  return new ApiError(status, type, typeof message === 'string' ? message : type);
}

/** Responses whose bodies are being read. Fetch ends the body of a response that was garbage-collected. */
const reading = new Set<Response>();

/** The bytes of a file. Throws Failure `general_unavailable` if the connection breaks. */
async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response.body ?? []) yield chunk;
  } catch (error) {
    throw new Failure('general_unavailable', { message: 'The connection to the source broke.', cause: error });
  } finally {
    reading.delete(response);
  }
}
