import { type ErrorType, errorCatalog } from '#src/contract/errors.js';

type Json = Record<string, unknown>;

/** The headers of every response. */
export const headerRefs = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

/** The schema of the error envelope. */
export const errorShape = {
  type: 'object',
  required: ['message', 'code', 'type', 'version'],
  properties: {
    message: { type: 'string' },
    code: { type: 'integer', description: 'The HTTP status' },
    type: { type: 'string', description: 'The machine-readable error type' },
    version: { type: 'string' },
    pendingSession: {
      type: 'object',
      description: 'With user_more_factors_required, where a login lacks its second factor: good for completing it',
      required: ['userId', 'secret', 'expire'],
      properties: {
        userId: { type: 'string' },
        secret: { type: 'string' },
        expire: { type: 'string', format: 'date-time' },
      },
    },
  },
};

/** Content of an error response other than the error envelope: a JSON schema, possibly with its own media type, or a page. */
interface Beside {
  readonly json: Json | undefined;
  readonly mediaType: string | undefined;
  readonly isPage: boolean;
}

function errorResponse(code: number, types: readonly ErrorType[], { json, mediaType, isPage }: Beside): Json {
  const envelope = {
    allOf: [
      { $ref: '#/components/schemas/Error' },
      { type: 'object', properties: { code: { const: code }, type: { enum: [...types] } } },
    ],
  };
  return {
    description: types.map((type) => `${type}: ${errorCatalog[type].message}`).join('\n\n'),
    headers: {
      ...headerRefs,
      ...(code === 429 || code === 503 ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } : {}),
    },
    content: {
      'application/json': {
        schema: json === undefined ? envelope : { anyOf: [envelope, json] },
      },
      ...(json === undefined || mediaType === undefined ? {} : { [mediaType]: { schema: json } }),
      // For browsers, which prefer HTML.
      ...(isPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
    },
  };
}

/** Error responses shared by operations. */
export interface ErrorResponses {
  /** Responses by name, as in `components`. */
  readonly responses: Json;
  /** Returns a reference to the response with this status and one of these errors. */
  refer(code: number, types: readonly ErrorType[], beside: Beside): Json;
}

/** Describes the error responses of operations. Most operations share them, so each is stored once in the components and referenced. */
export function createErrorResponses(): ErrorResponses {
  const responses: Json = {};
  const known = new Map<string, string>();
  const freeName = (base: string): string => {
    if (!(base in responses)) return base;
    let number = 2;
    while (`${base}_${number}` in responses) number += 1;
    return `${base}_${number}`;
  };
  return {
    responses,
    refer: (code, types, beside) => {
      const response = errorResponse(code, types, beside);
      const text = JSON.stringify(response);
      const [type] = types;
      const name = known.get(text) ?? freeName(types.length === 1 && type !== undefined ? type : `errors_${code}`);
      known.set(text, name);
      responses[name] = response;
      return { $ref: `#/components/responses/${name}` };
    },
  };
}
