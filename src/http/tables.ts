import { z } from 'zod';
import { type ErrorType, errorCatalog, Failure } from '#src/contract/errors.js';
import type { Call, Declaration, Operation, Reply } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';

/** The names of what databases hold in paths, bodies and answers, and what `/tablesdb` says instead. */
const renames: Readonly<Record<string, string>> = {
  collections: 'tables',
  documents: 'rows',
  attributes: 'columns',
  collectionId: 'tableId',
  documentId: 'rowId',
  attribute: 'column',
  documentSecurity: 'rowSecurity',
  $collectionId: '$tableId',
  relatedCollection: 'relatedTable',
  relatedCollectionId: 'relatedTableId',
};

/** Words of the ids of operations and shapes, and of types of errors. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^databases\b/, 'tablesdb'],
  [/^documents\b/, 'rows'],
  [/^document(?=_|$)/, 'row'],
  [/^collection(?=_|$)/, 'table'],
  [/^attribute(?=_|$)/, 'column'],
  [/^index(?=_|$)/, 'column_index'],
  [/^Index/, 'ColumnIndex'],
  [/Collection/, 'Table'],
  [/Document/, 'Row'],
  [/Attribute/, 'Column'],
];
const inSummaries: readonly (readonly [RegExp, string])[] = [
  [/collection/g, 'table'],
  [/document/g, 'row'],
  [/\ban attribute/gi, 'a column'],
  [/attribute/g, 'column'],
];

const renamed = (name: string): string => renames[name] ?? name;
const reworded = (text: string, table = words): string =>
  table.reduce((result, [word, instead]) => result.replace(word, instead), text);
const inNewWords = (text: string): string => reworded(text, inSummaries);

/** The operations on databases once more, below `/tablesdb`, with the names that the newer SDKs use. */
export function tablesOperations(operations: readonly Operation[]): Operation[] {
  const schemaOf = createRenaming();
  return operations
    .filter(({ declaration }) => declaration.path.startsWith('/databases'))
    .map((operation) => ({
      declaration: declarationOf(operation.declaration, schemaOf),
      sameAs: operation.declaration.id,
      handle: async (call) => {
        try {
          return await operation.handle({
            ...call,
            params: withOldNames(operation.declaration.params, call.params),
            body: withOldNames(operation.declaration.body, call.body),
          } as Call);
        } catch (error) {
          throw failureOf(error);
        }
      },
      present: (result) => (result instanceof RawJson ? renamedText(result) : renamedValue(result)),
    }));
}

type Renaming = ReturnType<typeof createRenaming>;

function declarationOf(declaration: Declaration, schemaOf: Renaming): Declaration {
  const { id, path, aliases, tag: _, summary, params, body, reply, errors, ...rest } = declaration;
  const renamedPath = (one: string) => one.replace('/databases', '/tablesdb').replace(/(?<=[/:])\w+/g, renamed);
  return {
    ...rest,
    id: reworded(id),
    path: renamedPath(path),
    ...(aliases === undefined ? {} : { aliases: aliases.map(renamedPath) }),
    tag: 'tablesdb',
    summary: reworded(summary, inSummaries),
    ...(params === undefined ? {} : { params: schemaOf(params) as z.ZodObject }),
    ...(body === undefined ? {} : { body: schemaOf(body) }),
    reply: (reply.kind === 'json' ? { ...reply, schema: schemaOf(reply.schema) } : reply) as Reply,
    errors: errors.map(errorOf),
  };
}

/** Renames the members of schemas; a schema that is used twice stays one, so that it has one name in the description. */
function createRenaming() {
  const cache = new Map<z.ZodType, z.ZodType>();
  const rename = (schema: z.ZodType): z.ZodType => {
    const known = cache.get(schema);
    if (known !== undefined) return known;
    const made = make(schema);
    const meta = schema.meta();
    const named = made === schema || meta === undefined ? made : made.meta(newMeta(meta));
    cache.set(schema, named);
    return named;
  };
  const make = (schema: z.ZodType): z.ZodType => {
    if (schema instanceof z.ZodObject) {
      const members = Object.entries(schema.shape).map(([name, one]) => [renamed(name), rename(one as z.ZodType)]);
      const object = z.object(Object.fromEntries(members));
      const { catchall } = schema.def;
      return catchall === undefined ? object : object.catchall(catchall as z.ZodType);
    }
    if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject)
      return schema.clone({ ...schema.def, element: rename(schema.element) });
    if (schema instanceof z.ZodUnion) return z.union(schema.options.map((one) => rename(one as z.ZodType)));
    return schema;
  };
  return rename;
}

function newMeta({ id, ...meta }: z.GlobalMeta): z.GlobalMeta {
  return id === undefined ? meta : { ...meta, id: reworded(id) === id ? `Tables${id}` : reworded(id) };
}

/** What was validated under the new names, under those that the schema has. */
function withOldNames(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((one) => withOldNames(schema.element as z.ZodType, one));
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return value;
  const old = new Map(Object.keys(schema.shape).map((name) => [renamed(name), name]));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const known = old.get(name) ?? name;
      return [known, withOldNames(schema.shape[known] as z.ZodType | undefined, one)];
    }),
  );
}

function renamedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamedValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [renamed(name), renamedValue(one)]));
}

/**
 * Printed documents are not taken apart. A quotation mark within a JSON text has a backslash before it, so these texts are names of members, and
 * no attribute has a name that begins with $.
 */
function renamedText({ parts, status, etag }: RawJson): RawJson {
  const [first = '', ...rest] = parts;
  const listed = first.replace(/^(\{"total":\d+,)"documents":\[/, '$1"rows":[');
  return new RawJson(
    [listed, ...rest].map((part) => part.replaceAll(',"$collectionId":', ',"$tableId":')),
    status,
    etag,
  );
}

function errorOf(type: ErrorType): ErrorType {
  const name = reworded(type);
  return name in errorCatalog ? (name as ErrorType) : type;
}

/** Where a message says a name of the wire: whole in backticks, or as a parameter. Names of columns stand in quotation marks only. */
const namesInMessages = /(?<=`)[$\w]+(?=`)|(?<=^Param ")[$\w]+(?=")/g;

/** How messages begin that hold nothing of a caller's before their first quotation mark: names of columns, values and ids come after it. */
const ownWords =
  /^(?:Invalid document structure|Invalid relationship|There is no attribute|You do not have the permission|Only a server key can|A collection with|The (?:attributes|documents|deletion|deleted)|More than \d+ documents match|A transaction changes)[^"`]*/;

/** The same failure under the new names; a message of its own stays but for the names of members and the words before what is a caller's. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const { retryAfter, headers, members, cause } = error;
  const isCatalogs = error.message === errorCatalog[error.type].message;
  // What is said of a query names attributes as the caller wrote them, without quotation marks.
  const message =
    isCatalogs || error.message.startsWith('Invalid query')
      ? error.message
      : error.message.replace(namesInMessages, renamed).replace(ownWords, inNewWords);
  if (errorOf(error.type) === error.type && message === error.message) return error;
  const own = isCatalogs ? {} : { message };
  return new Failure(errorOf(error.type), {
    ...own,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    headers,
    members,
    cause,
  });
}
