import type { Collection } from '#src/features/index.js';
import { attributeTypes, isToOne, type Relation, shownAttributes } from '#src/features/index.js';

type Json = Record<string, unknown>;
type Attribute = Collection['attributes'][number];

const documentPath = '/databases/{databaseId}/collections/{collectionId}/documents';
/** By column: what a value is in JSON. */
const jsonTypes = { text: 'string', integer: 'integer', double: 'number', boolean: 'boolean' } as const;
/** By the format of a type: the format of JSON Schema (draft 2020-12, validation vocabulary §7.3). */
const jsonFormats: Readonly<Record<string, string>> = { datetime: 'date-time', email: 'email', url: 'uri' };

/**
 * The description of an API with the collections of a project: for each, schemas of its documents and of what they are made from, and the
 * operations on documents at its own paths. `generic` is the description without them, and is not changed.
 */
export function withCollections(generic: Json, collections: readonly Collection[]): Json {
  const components = generic.components as { readonly schemas: Json };
  const schemas: Json = { ...components.schemas };
  const paths: Json = { ...(generic.paths as Json) };
  const general = Object.entries(generic.paths as Json).filter(([path]) => path.startsWith(documentPath));
  for (const collection of collections) {
    const own = `/databases/${collection.databaseId}/collections/${collection.id}/documents`;
    const name = freeName(`${collection.databaseId}.${collection.id}`, schemas);
    const names = { document: `Document.${name}`, data: `Data.${name}`, changes: `Changes.${name}` };
    schemas[names.document] = documentSchema(collection, schemas.Document as Json);
    schemas[names.data] = dataSchema(collection, true);
    schemas[names.changes] = dataSchema(collection, false);
    for (const [path, operations] of general)
      paths[path.replace(documentPath, own)] = ownOperations(operations as Json, name, names);
  }
  return { ...generic, paths, components: { ...components, schemas } };
}

/** Ids may contain dots, so two collections may come to one name. */
function freeName(name: string, schemas: Json): string {
  return `Document.${name}` in schemas ? freeName(`${name}-`, schemas) : name;
}

function documentSchema(collection: Collection, base: Json): Json {
  const { name, attributes } = collection;
  const { additionalProperties: _, ...rest } = base;
  return {
    ...rest,
    description: `A document of the collection "${name}"`,
    required: [...(base.required as string[]), ...attributes.map(({ key }) => key)],
    properties: {
      ...(base.properties as Json),
      ...valueSchemas(collection, documentMember),
    },
  };
}

/** What a document is made from: all of it, or what changes. */
function dataSchema(collection: Collection, isWhole: boolean): Json {
  const { name, attributes } = collection;
  return {
    type: 'object',
    description: `Attributes of ${isWhole ? 'a document' : 'a change of a document'} of the collection "${name}"`,
    required: attributes.filter(({ required }) => required && isWhole).map(({ key }) => key),
    properties: valueSchemas(collection, nestedMember),
    additionalProperties: false,
  };
}

const documentMember: Json = { $ref: '#/components/schemas/Document' };
const nestedMember: Json = {
  type: 'object',
  description: 'A document that is created, or changed where its $id is there',
};

/** Schemas by key; a related document stands for its id where a request asks for it, and where it is written with the document. */
function valueSchemas(collection: Collection, member: Json): Json {
  const schemaOf = (attribute: Attribute | Relation): Json =>
    'link' in attribute ? relationSchema(attribute, member) : valueSchema(attribute, !attribute.required);
  return Object.fromEntries(shownAttributes(collection).map((attribute) => [attribute.key, schemaOf(attribute)]));
}

function relationSchema(relation: Relation, member: Json): Json {
  const one = [{ type: 'string' }, member];
  return isToOne(relation)
    ? { anyOf: [...one, { type: 'null' }] }
    : { anyOf: [{ type: 'array', items: { anyOf: one } }, { type: 'null' }] };
}

function valueSchema(attribute: Attribute, isNullable: boolean): Json {
  const { size, elements, array } = attribute;
  const { column, format } = attributeTypes[attribute.type];
  const type = column in jsonTypes ? jsonTypes[column as keyof typeof jsonTypes] : undefined;
  const one: Json = {
    ...(type === undefined ? {} : { type }),
    ...(format !== undefined && format in jsonFormats ? { format: jsonFormats[format] } : {}),
    ...(size === undefined ? {} : { maxLength: size }),
    ...(elements === undefined ? {} : { enum: elements }),
  };
  const value = array ? { type: 'array', items: one } : one;
  return isNullable && type !== undefined ? { anyOf: [value, { type: 'null' }] } : value;
}

/** Operations of one collection: no ids of database and collection in the path, and its own schemas. */
function ownOperations(
  operations: Json,
  name: string,
  names: { document: string; data: string; changes: string },
): Json {
  const text = JSON.stringify(operations).replaceAll('"#/components/schemas/Document"', () =>
    JSON.stringify(`#/components/schemas/${names.document}`),
  );
  const own = JSON.parse(text) as Record<string, Json>;
  for (const [method, operation] of Object.entries(own)) {
    operation.operationId = `${operation.operationId}__${name}`;
    operation.parameters = (operation.parameters as Json[]).filter(
      (parameter) => parameter.in !== 'path' || !['databaseId', 'collectionId'].includes(String(parameter.name)),
    );
    const body = operation.requestBody as { content: Record<string, { schema: { properties?: Json } }> } | undefined;
    const properties = body?.content['application/json']?.schema.properties;
    // Several documents at once are of the general operation, so that this one says what it answers.
    if (properties?.documents !== undefined && properties.data !== undefined) delete properties.documents;
    if (properties?.data !== undefined)
      properties.data = { $ref: `#/components/schemas/${method === 'patch' ? names.changes : names.data}` };
  }
  return inlineLists(own, names.document);
}

/** Replies with one document or a list are with one: lists are asked for by GET. The list has a schema of its own for each collection. */
function inlineLists(operations: Json, document: string): Json {
  const one = JSON.stringify({ $ref: `#/components/schemas/${document}` });
  const generic = JSON.stringify({ $ref: '#/components/schemas/DocumentList' });
  const list = {
    type: 'object',
    required: ['total', 'documents'],
    properties: {
      total: { type: 'integer' },
      documents: { type: 'array', items: { $ref: `#/components/schemas/${document}` } },
    },
  };
  return JSON.parse(
    JSON.stringify(operations)
      .replaceAll(`{"anyOf":[${one},${generic}]}`, () => one)
      .replaceAll(generic, () => JSON.stringify(list)),
  ) as Json;
}
