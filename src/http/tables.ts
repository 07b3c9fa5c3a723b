import { z } from 'zod';
import type { Declaration } from '#src/contract/declaration.js';
import { errorCatalog, Failure, inTables } from '#src/contract/errors.js';
import type { Call, Operation } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import { tableTerms } from '#src/contract/terms.js';

/** Names in paths, bodies and replies of `/databases`, with their equivalents in `/tablesdb`. */
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

/** Words in operation ids and schema names. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^databases\b/, 'tablesdb'],
  [/^documents\b/, 'rows'],
  [/^Index/, 'ColumnIndex'],
  [/Collection/, 'Table'],
  [/Document/, 'Row'],
  [/Attribute/, 'Column'],
];

/** A summary in the words of `/tablesdb`. */
const inTableTerms = (summary: string): string =>
  summary
    .replaceAll('collection', 'table')
    .replaceAll('document', 'row')
    .replace(/\ban attribute/gi, 'a column')
    .replaceAll('attribute', 'column');

const renamed = (name: string): string => renames[name] ?? name;
const reworded = (text: string): string =>
  words.reduce((result, [word, instead]) => result.replace(word, instead), text);

/** Duplicates the operations on databases below `/tablesdb`, with the names used by newer SDKs. */
export function tablesOperations(operations: readonly Operation[]): Operation[] {
  const schemaOf = createRenaming();
  return operations
    .filter(({ declaration }) => declaration.path.startsWith('/databases'))
    .map(({ declaration, handle, repeat }) => ({
      declaration: declarationOf(declaration, schemaOf),
      sameAs: declaration.id,
      handle: async (call) => inNewNames(() => handle(inOldNames(declaration, call))),
      ...(repeat && { repeat: async (call, kept) => inNewNames(() => repeat(inOldNames(declaration, call), kept)) }),
      present: (result) => (result instanceof RawJson ? renamedText(result) : renamedValue(result)),
    }));
}

/** Returns a schema with the new names of its members. */
type Renaming = (schema: z.ZodType) => z.ZodType;

function inOldNames({ input }: Declaration, call: Call): Call {
  const { params, body } = call;
  return { ...call, params: withOldNames(input?.params, params), body: withOldNames(input?.body, body) } as Call;
}

async function inNewNames<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw failureOf(error);
  }
}

function declarationOf(declaration: Declaration, schemaOf: Renaming): Declaration {
  const { id, path, aliases, summary, input = {}, reply } = declaration;
  const { shape } = reply;
  const renamedPath = (one: string) => one.replace('/databases', '/tablesdb').replace(/(?<=[/:])\w+/g, renamed);
  return {
    ...declaration,
    id: reworded(id),
    path: renamedPath(path),
    ...(aliases === undefined ? {} : { aliases: aliases.map(renamedPath) }),
    tag: 'tablesdb',
    summary: inTableTerms(summary),
    input: {
      ...input,
      ...(input.params && { params: schemaOf(input.params) as z.ZodObject }),
      ...(input.body && { body: schemaOf(input.body) }),
    },
    reply: {
      ...reply,
      shape: shape.kind === 'json' ? { ...shape, schema: schemaOf(shape.schema) } : shape,
      errors: reply.errors.map(inTables),
    },
  };
}

/** Renames the members of schemas. Caches the results, so that a shared schema keeps one name in the API description. */
function createRenaming(): Renaming {
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

/** Converts a value validated under the new names to the names in the original schema. */
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
 * Renames members in printed documents without parsing them. Quotation marks within JSON strings are escaped, so the matched text is always
 * a member name. Attribute names cannot begin with $.
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

/** Converts a failure to the new names. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const type = inTables(error.type);
  const { retryAfter, headers, members, cause, problems, wording } = error;
  const more = { headers, members, cause, ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (problems.length > 0)
    return new Failure(type, {
      ...more,
      problems: problems.map((problem) =>
        problem.kind === 'request' ? problem : { ...problem, name: renamed(problem.name) },
      ),
    });
  if (wording !== undefined) return new Failure(type, { ...more, message: wording(tableTerms) });
  if (type === error.type) return error;
  const isCatalogs = error.message === errorCatalog[error.type].message;
  return new Failure(type, isCatalogs ? more : { ...more, message: error.message });
}
