import { z } from 'zod';
import type { Declaration, DeclaredReply } from '#src/contract/declaration.js';
import { headerRefs } from './openapi-errors.js';

type Json = Record<string, unknown>;

const asText = { schema: { type: 'string' } };
const binary = { schema: { type: 'string', format: 'binary' } };
const fileContent = { '*/*': binary };

/** A header of a response. */
export const textHeader = (description: string, type = 'string') => ({ description, schema: { type } });
const locationHeader = {
  Location: textHeader(
    'Where the browser goes on; after an error the page named by failure, with `error` in its query',
  ),
};
/** Responses to a file request other than the whole file. */
const fileResponses = {
  206: { description: 'The range that was asked for', headers: headerRefs, content: fileContent },
  304: { description: 'The client has these bytes', headers: headerRefs },
};

/** The responses of an operation that has succeeded. */
export function responsesOf(declaration: Declaration, schemas: Json): Json {
  const { shape, status, orPage, orRedirect } = declaration.reply;
  const redirect = { headers: { ...headerRefs, ...locationHeader } };
  return {
    [status]: {
      description: declaration.summary,
      ...(shape.kind === 'redirect' ? redirect : { headers: headerRefs }),
      ...contentOf(declaration.reply, schemas),
    },
    ...(shape.kind === 'file' ? fileResponses : {}),
    ...(shape.kind === 'redirect' && orPage === true
      ? { 200: { description: 'A page instead', headers: headerRefs, content: { 'text/html': asText } } }
      : {}),
    ...(orRedirect ? { 302: { description: 'Leads to another page', ...redirect } } : {}),
    ...(shape.kind === 'redirect' && shape.otherwise !== undefined
      ? {
          [shape.otherwise.status]: {
            description: 'Where the caller has named no page to lead to',
            headers: headerRefs,
            content: { 'application/json': { schema: convert(shape.otherwise.schema, 'output', schemas) } },
          },
        }
      : {}),
  };
}

/** The content of a successful response. */
function contentOf({ shape, streams, orPage, mediaType }: DeclaredReply, schemas: Json): Json {
  const asJson = (schema: z.ZodType) =>
    Object.fromEntries(
      ['application/json', ...(mediaType === undefined ? [] : [mediaType])].map((type) => [
        type,
        { schema: convert(schema, 'output', schemas) },
      ]),
    );
  switch (shape.kind) {
    case 'json':
      return {
        content: {
          ...asJson(shape.schema),
          ...(streams ? { 'text/event-stream': asText } : {}),
          ...(orPage ? { 'text/html': asText } : {}),
        },
      };
    case 'page':
      return { content: { 'text/html': asText, ...(shape.otherwise ? asJson(shape.otherwise) : {}) } };
    case 'text':
      return { content: { [shape.contentType.split(';')[0] ?? '']: asText } };
    case 'image':
      return { content: { 'image/*': binary } };
    case 'asset':
      return { content: { 'text/javascript': asText, 'text/css': asText, 'font/ttf': binary } };
    case 'file':
      return { content: fileContent };
    default:
      return {};
  }
}

/**
 * Converts zod to JSON Schema 2020-12, the dialect of OpenAPI 3.1. Named schemas move to the components. Replies may gain members later, so
 * their schemas allow additional properties.
 */
export function convert(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const converted = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // The format already covers the pattern.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  }) as Json;
  const text = JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $defs, $schema: _, ...rest } = JSON.parse(text) as { $defs?: Record<string, Json> } & Json;
  for (const [id, { id: __, ...definition }] of Object.entries($defs ?? {})) schemas[id] = definition;
  const { id, ...shape } = rest;
  if (typeof id !== 'string') return rest;
  schemas[id] = shape;
  return { $ref: `#/components/schemas/${id}` };
}
