// Records every answer of a server, whoever asked, and compares it with the OpenAPI document of the server.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

type Json = Record<string, unknown>;

/** An answer as it left the server. */
export type RecordedAnswer = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
};

type OpenApiOperation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, DescribedResponse | { readonly $ref: string }>>;
};

type DescribedResponse = { readonly content?: Readonly<Record<string, { schema: Json }>> };

/** The part of the OpenAPI document that judges answers. */
type OpenApiDocument = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly responses: Readonly<Record<string, DescribedResponse>>;
  };
};

/** Answers that no operation gives, by the error they must then carry. */
const outsideOperations: Readonly<Record<number, string>> = {
  400: 'general_feature_unsupported',
  404: 'general_route_not_found',
  405: 'general_method_unsupported',
  421: 'general_host_unknown',
  426: 'general_upgrade_required',
  429: 'general_rate_limit_exceeded',
};

/** Judges answers by an OpenAPI document. */
export function createJudge(document: OpenApiDocument) {
  // That the schemas are such is a test of its own, in test/contract/openapi.test.ts; here it would take a quarter of a second in each file.
  // Nor is the code that judges worth an optimisation: most of it runs a few times.
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, validateSchema: false, code: { optimize: false } });
  formats.default(ajv);
  const { schemas, responses } = document.components;
  // Each is compiled once, when the first operation names it.
  for (const [id, shape] of Object.entries(schemas)) ajv.addSchema(id === 'Error' ? named(shape) : closed(shape), id);
  const compiled = new Map<string, ValidateFunction>();
  // By their number of segments, as there are hundreds and each answer looks for its own.
  const operations = new Map<number, { methods: OpenApiDocument['paths'][string]; pattern: RegExp }[]>();
  // Where two templates fit a path, the one with fewer parameters is meant.
  const paths = Object.entries(document.paths).sort(([a], [b]) => a.split('{').length - b.split('{').length);
  for (const [template, methods] of paths) {
    const length = template.split('/').length;
    operations.set(length, [...(operations.get(length) ?? []), { methods, pattern: patternOf(template) }]);
  }

  const find = (method: string, path: string): OpenApiOperation | undefined => {
    const below = path.replace(/^\/v1(?=\/|$)/, '') || '/';
    const name = (method === 'HEAD' ? 'GET' : method).toLowerCase();
    const alike = operations.get(below.split('/').length) ?? [];
    const found = alike.find(({ methods, pattern }) => methods[name] !== undefined && pattern.test(below));
    const operation = found?.methods[name];
    // As the document says of itself: operations of the installation answer at the root too, and only those.
    return below === path && !operation?.tags.includes('operations') ? undefined : operation;
  };
  const validator = (key: string, schema: Json, status: number): ValidateFunction => {
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const made = ajv.compile(status < 400 ? closed(schema) : named(schema));
    compiled.set(key, made);
    return made;
  };
  const bodyProblem = (operation: OpenApiOperation, answer: RecordedAnswer): string | undefined => {
    const response = operation.responses[answer.status];
    // Errors are described once for all operations.
    const declared =
      response !== undefined && '$ref' in response ? responses[response.$ref.split('/').at(-1) ?? ''] : response;
    if (declared === undefined) return `status ${answer.status} is not declared`;
    const given = String(answer.headers['content-type']);
    const contents = Object.entries(declared.content ?? {});
    const [type, content] = contents.find(([name]) => given.startsWith(name)) ?? contents[0] ?? [];
    if (type === undefined || content === undefined)
      return answer.body === '' ? undefined : 'a body where none is declared';
    if (!given.startsWith(type.replace(/\*.*$/, ''))) return `is not ${type}`;
    if (answer.method === 'HEAD' || !/^application\/(.*\+)?json$/.test(type)) return undefined;
    const validate = validator(`${operation.operationId} ${answer.status}`, content.schema, answer.status);
    if (answer.body === '') return 'no body where one is declared';
    return validate(JSON.parse(answer.body)) ? undefined : ajv.errorsText(validate.errors);
  };
  const outsideProblem = (answer: RecordedAnswer): string | undefined => {
    const type = outsideOperations[answer.status];
    if (answer.method === 'OPTIONS' && answer.status === 204) return undefined;
    if (type === undefined) return `status ${answer.status} where no operation is declared`;
    const body: Json = answer.method === 'HEAD' ? { type } : JSON.parse(answer.body);
    return body.type === type ? undefined : `type ${body.type} where no operation is declared`;
  };
  return {
    /** The operation that an answer belongs to. */
    operationOf: (answer: RecordedAnswer): string | undefined => find(answer.method, answer.path)?.operationId,
    /** What is wrong with an answer; undefined where nothing is. */
    problem: (answer: RecordedAnswer): string | undefined => {
      const { method, path } = answer;
      const operation = find(method, path);
      const outside = operation === undefined ? outsideProblem(answer) : undefined;
      // A slash at the end of a path says nothing, unless an id is missing behind it.
      const meant = outside === undefined ? operation : find(method, path.replace(/(?<=[^/])\/$/, ''));
      const wrong = meant === undefined ? outside : bodyProblem(meant, answer);
      const found = wrong ?? (answer.headers['x-request-id'] ? undefined : 'no X-Request-Id');
      return found && `${answer.method} ${answer.path} ${answer.status}: ${found}\n${answer.body.slice(0, 500)}`;
    },
  };
}

/** Judges answers by an OpenAPI document. */
export type Judge = ReturnType<typeof createJudge>;

/** Records the answers of the servers of this process that listen on a port of `ports`; `stop` ends it. */
export function recordAnswers(ports: ReadonlySet<number>): { readonly answers: RecordedAnswer[]; stop(): void } {
  const answers: RecordedAnswer[] = [];
  const listener = (message: unknown) => {
    // What Node publishes on this channel, by its documentation.
    const { request, response, server } = message as {
      request: IncomingMessage;
      response: ServerResponse;
      server: Server;
    };
    const address = server.address();
    if (address === null || typeof address === 'string' || !ports.has(address.port)) return;
    const { end, write, writeHead } = response;
    const parts: Buffer[] = [];
    let bytes = 0;
    let head: Readonly<Record<string, string>> | undefined;
    const headRecorder = (status: number, lines?: readonly string[]) => {
      head = Array.isArray(lines) ? headersOf(lines) : undefined;
      return Reflect.apply(writeHead, response, [status, lines]);
    };
    const path = (request.url ?? '').split('?')[0] ?? '';
    const keep = (part: unknown) => {
      const headers = head ?? response.getHeaders();
      // Of files the beginning is enough.
      if (bytes >= 65_536 && !String(headers['content-type']).startsWith('application/json')) return;
      if (typeof part !== 'string' && !Buffer.isBuffer(part)) return;
      parts.push(Buffer.from(part));
      bytes += part.length;
    };
    const partRecorder = (...given: unknown[]) => {
      keep(given[0]);
      return Reflect.apply(write, response, given);
    };
    const recorder = (...given: unknown[]) => {
      keep(given[0]);
      // Where the client has hung up nothing leaves any more.
      if (response.socket?.writable !== true) return Reflect.apply(end, response, given);
      answers.push({
        method: request.method ?? '',
        path,
        status: response.statusCode,
        headers: head ?? response.getHeaders(),
        body: decoded(Buffer.concat(parts), String((head ?? response.getHeaders())['content-encoding'])).toString(),
      });
      return Reflect.apply(end, response, given);
    };
    response.writeHead = headRecorder as ServerResponse['writeHead'];
    response.write = partRecorder as ServerResponse['write'];
    response.end = recorder as ServerResponse['end'];
  };
  subscribe('http.server.request.start', listener);
  return { answers, stop: () => void unsubscribe('http.server.request.start', listener) };
}

/** A body without its content coding. */
export function decoded(body: Buffer, coding: string | undefined): Buffer {
  if (coding === 'br') return brotliDecompressSync(body);
  // Of files only the beginning may be there.
  return coding === 'gzip' ? gunzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH }) : body;
}

/** Headers by their lower-case names, from names and values in turn. One that stands twice would be a defect of the server. */
function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]?.toLowerCase() ?? '';
    if (name in headers && name !== 'set-cookie') throw new Error(`the header ${name} twice in one answer`);
    headers[name] = lines[at + 1] ?? '';
  }
  return headers;
}

/** The same shape without room for members that are not declared: a server may add some later, this one has none to hide. */
function closed(schema: Json): Json {
  const copy: Json = JSON.parse(JSON.stringify(named(schema)), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('properties' in value) || !('type' in value)) return value;
    return 'additionalProperties' in value ? value : { ...value, additionalProperties: false };
  });
  return copy;
}

/** The same shape that refers to others by their names alone. */
function named(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/components/schemas/', '"$ref":"'));
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`);
}
