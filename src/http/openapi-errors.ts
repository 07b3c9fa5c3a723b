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

/** What a status has besides the error envelope: JSON of another shape, which may have its own media type too, or a page. */
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
      // For browsers, which ask for it.
      ...(isPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
    },
  };
}

/** Describes the responses of operations to errors. Most operations share them, so each is among the components once and operations refer to it. */
export function createErrorResponses() {
  const responses: Json = {};
  const known = new Map<string, string>();
  const freeName = (base: string): string => {
    if (!(base in responses)) return base;
    let number = 2;
    while (`${base}_${number}` in responses) number += 1;
    return `${base}_${number}`;
  };
  return {
    /** By name, as `components` has them. */
    responses,
    /** A reference to the response of this status with one of these errors. */
    refer: (code: number, types: readonly ErrorType[], beside: Beside): Json => {
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

/** Error responses that are shared by operations. */
export type ErrorResponses = ReturnType<typeof createErrorResponses>;
