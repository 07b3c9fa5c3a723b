import type { Collection } from '#src/features/index.js';
import { attributeTypes, isToOne, type Relation, shownAttributes } from '#src/features/index.js';
import { exampleObject } from './openapi-samples.js';

type Json = Record<string, unknown>;
type Attribute = Collection['attributes'][number];

/**
 * The two APIs for the documents of a collection: their paths, the names of their schemas, the path parameters that collection-specific
 * paths omit, and the placeholders of these in code samples.
 */
const ways = [
  {
    path: '/databases/{databaseId}/collections/{collectionId}/documents',
    shape: 'Document',
    list: 'documents',
    tag: 'databases',
    shown: 'documents',
    ids: ['databaseId', 'collectionId'],
    sampleIds: ['<DATABASE_ID>', '<COLLECTION_ID>'],
    ownPath: ({ databaseId, id }: Collection) => `/databases/${databaseId}/collections/${id}/documents`,
    described: ({ name }: Collection) => `A document of the collection "${name}"`,
  },
  {
    path: '/tablesdb/{databaseId}/tables/{tableId}/rows',
    shape: 'Row',
    list: 'rows',
    tag: 'tablesdb',
    shown: 'rows',
    ids: ['databaseId', 'tableId'],
    sampleIds: ['<DATABASE_ID>', '<TABLE_ID>'],
    ownPath: ({ databaseId, id }: Collection) => `/tablesdb/${databaseId}/tables/${id}/rows`,
    described: ({ name }: Collection) => `A row of the table "${name}"`,
  },
] as const;
type Way = (typeof ways)[number];

/** Placeholders in a template for the path and the name of one collection. Neither contains characters that JSON escapes. */
const marks = { path: '<path>', name: '<name>' } as const;
/** JSON types by column type. */
const jsonTypes = { text: 'string', integer: 'integer', double: 'number', boolean: 'boolean' } as const;
/** Formats of JSON Schema (draft 2020-12, validation vocabulary §7.3) by attribute format. */
const jsonFormats: Readonly<Record<string, string>> = { datetime: 'date-time', email: 'email', url: 'uri' };

/**
 * Adds the collections of a project to an API description. Each collection gets schemas of its documents, rows and payloads, and operations
 * at its own paths. `generic` is the description without collections; it is not modified.
 */
export function withCollections(generic: Json, collections: readonly Collection[]): Json {
  const components = generic.components as { readonly schemas: Json };
  const schemas: Json = { ...components.schemas };
  const paths: Json = { ...(generic.paths as Json) };
  const names = namesOf(collections);
  const tags = generic.tags as { readonly name: string }[];
  for (const collection of collections) {
    const name = String(names.get(collection.number));
    for (const form of payloads) schemas[`${form}.${name}`] = payloadSchema(collection, form, names);
  }
  for (const way of ways) {
    const template = templateOf(paths, way);
    for (const collection of collections) {
      const name = String(names.get(collection.number));
      schemas[`${way.shape}.${name}`] = documentSchema(collection, schemas[way.shape] as Json, way, names);
      const text = template
        .replaceAll(marks.path, way.ownPath(collection))
        .replaceAll(marks.name, name)
        .replaceAll(way.sampleIds[0], collection.databaseId)
        .replaceAll(way.sampleIds[1], collection.id);
      Object.assign(paths, withData(JSON.parse(text), schemas[`Data.${name}`] as Json));
    }
  }
  const ownTags = ({ shape, shown }: Way) =>
    collections.map((collection) => ({
      name: `${shape}.${names.get(collection.number)}`,
      'x-displayName': `${collection.name || collection.id}: ${shown}`,
      description: `The collection ${collection.id} of the database ${collection.databaseId}.`,
    }));
  const ownOf = new Map(ways.map((way) => [way.tag as string, ownTags(way)]));
  return {
    ...generic,
    tags: tags.flatMap((one) => [one, ...(ownOf.get(one.name) ?? [])]),
    paths,
    components: { ...components, schemas },
  };
}

/** Puts the required attributes of a collection into the examples of its operations. */
function withData(operations: Record<string, Record<string, Json>>, data: Json): Json {
  for (const methods of Object.values(operations))
    for (const { requestBody } of Object.values(methods)) {
      const json = (requestBody as { content: Record<string, { example?: Json }> } | undefined)?.content[
        'application/json'
      ];
      if (json?.example?.data !== undefined) json.example = { ...json.example, data: exampleObject(data) };
    }
  return operations;
}

/** Schema names by collection number. Ids may contain dots, so two collections could get the same name; duplicates get a suffix. */
function namesOf(collections: readonly Collection[]): ReadonlyMap<number, string> {
  const taken = new Set<string>();
  const free = (name: string): string => (taken.has(name) ? free(`${name}-`) : name);
  return new Map(
    collections.map(({ number, databaseId, id }) => {
      const name = free(`${databaseId}.${id}`);
      taken.add(name);
      return [number, name];
    }),
  );
}

function documentSchema(
  collection: Collection,
  base: Json,
  { shape, described }: Way,
  names: ReadonlyMap<number, string>,
): Json {
  const { additionalProperties: _, ...rest } = base;
  const member = ({ related }: Relation): Json => {
    const name = names.get(related.number);
    return { $ref: `#/components/schemas/${name === undefined ? shape : `${shape}.${name}`}` };
  };
  return {
    ...rest,
    description: described(collection),
    required: [...(base.required as string[]), ...collection.attributes.map(({ key }) => key)],
    properties: {
      ...(base.properties as Json),
      ...valueSchemas(collection, member),
    },
  };
}

/** The schema of a request payload: a new document, an update, or either one nested in another document. */
function payloadSchema(
  collection: Collection,
  form: (typeof payloads)[number],
  names: ReadonlyMap<number, string>,
): Json {
  const { name, attributes } = collection;
  const nested = ({ related }: Relation): Json => {
    const known = names.get(related.number);
    return known === undefined
      ? { type: 'object', additionalProperties: true }
      : { $ref: `#/components/schemas/Nested.${known}` };
  };
  return {
    type: 'object',
    description: `${payloadWords[form]} of the collection "${name}"`,
    required: attributes.filter(({ required }) => required && form === 'Data').map(({ key }) => key),
    properties: { ...(form === 'Nested' ? ownMembers : {}), ...valueSchemas(collection, nested) },
    additionalProperties: false,
  };
}

const payloads = ['Data', 'Changes', 'Nested'] as const;
const payloadWords = {
  Data: 'Attributes of a document',
  Changes: 'Attributes of a change of a document',
  Nested: 'Inside of another document: a document that is created, or changed where its $id is there,',
} as const;
const ownMembers: Json = { $id: { type: 'string' }, $permissions: { type: 'array', items: { type: 'string' } } };

/**
 * Schemas by attribute key. A related document may replace its id: in a response if the request populates it, in a payload if both are
 * written together.
 */
function valueSchemas(collection: Collection, member: (relation: Relation) => Json): Json {
  const schemaOf = (attribute: Attribute | Relation): Json =>
    'link' in attribute ? relationSchema(attribute, member(attribute)) : valueSchema(attribute, !attribute.required);
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

/**
 * The operations of one collection as JSON text with placeholders: without the path parameters for database and collection, and with the
 * collection's own schemas.
 */
function templateOf(paths: Json, way: Way): string {
  const general = Object.entries(paths).filter(([path]) => path.startsWith(way.path));
  return JSON.stringify(
    Object.fromEntries(
      general.map(([path, operations]) => [path.replace(way.path, marks.path), ownOperations(operations as Json, way)]),
    ),
  );
}

function ownOperations(operations: Json, way: Way): Json {
  const own = structuredClone(operations) as Record<string, Json>;
  for (const [method, operation] of Object.entries(own)) {
    operation.operationId = `${operation.operationId}__${marks.name}`;
    operation.tags = [`${way.shape}.${marks.name}`];
    operation.parameters = (operation.parameters as Json[]).filter(
      (parameter) => parameter.in !== 'path' || !way.ids.some((id) => id === parameter.name),
    );
    const body = operation.requestBody as { content: Record<string, { schema: { properties?: Json } }> } | undefined;
    const properties = body?.content['application/json']?.schema.properties;
    // Bulk writes are documented at the generic operation only, so that this one has a single response type.
    if (properties?.[way.list] !== undefined && properties.data !== undefined) delete properties[way.list];
    if (properties?.data !== undefined)
      properties.data = { $ref: `#/components/schemas/${method === 'patch' ? 'Changes' : 'Data'}.${marks.name}` };
  }
  return withOwnReplies(own, way);
}

/**
 * Replaces the generic schemas in replies. A reply with one document or a list becomes one document, because lists are read by GET. Each
 * collection has its own list schema.
 */
function withOwnReplies(operations: Json, { shape, list }: Way): Json {
  const [generic, one] = [shape, `${shape}.${marks.name}`].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const genericList = { $ref: `#/components/schemas/${shape}List` };
  const ownList = {
    type: 'object',
    required: ['total', list],
    properties: { total: { type: 'integer' }, [list]: { type: 'array', items: one } },
  };
  return JSON.parse(
    JSON.stringify(operations)
      .replaceAll(JSON.stringify({ anyOf: [generic, genericList] }), () => JSON.stringify(one))
      .replaceAll(JSON.stringify(generic), () => JSON.stringify(one))
      .replaceAll(JSON.stringify(genericList), () => JSON.stringify(ownList)),
  ) as Json;
}
