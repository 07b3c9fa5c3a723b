import type { Declaration } from '#src/contract/declaration.js';
import { queryBounds } from '#src/contract/limits.js';
import { type HandlerResult, invoke, type Operation, type RawCall } from '#src/contract/operation.js';
import { databasesApi } from '#src/features/data/databases/index.js';
import { type DocumentPage, documentValuesApi, type StoredDocument } from '#src/features/data/documents/index.js';
import { printJson } from '#src/platform/text/json.js';

/** The context shared by all resolvers of a request: project, actor and request. */
export type GraphqlCaller = Pick<RawCall, 'project' | 'actor' | 'request'>;

type Arguments = Readonly<Record<string, unknown>>;
type Input = Pick<RawCall, 'params' | 'query' | 'body'>;

/** The values of an object's fields by name. Scalars and lists of scalars are JSON text. */
export interface ResolverSource {
  readonly [field: string]: string | ResolverSource | readonly ResolverSource[];
}

/**
 * A root field: the operation that it calls, the mapping from arguments to the operation's input, and the mapping from its result to the
 * field's source.
 */
interface RootField<D extends Declaration = Declaration> {
  readonly declaration: D;
  readonly input: (args: Arguments) => Input;
  readonly output: (result: HandlerResult<D>) => ResolverSource;
}

/** Checks that `output` accepts the result of the field's own operation. The table of fields can only store the widened type. */
function rootField<D extends Declaration>(field: RootField<D>): RootField {
  return field as unknown as RootField;
}

const collection = ({ databaseId, collectionId }: Arguments) => ({ databaseId, collectionId });
const document = (args: Arguments) => ({ ...collection(args), documentId: args.documentId });

/** The field has no `queries` argument, so it requests the maximum length of a list. */
const maxLimit = JSON.stringify({ method: 'limit', values: [queryBounds.limit] });

const queries = ({ queries: list, populate }: Arguments) => ({
  queries: list ?? undefined,
  populate: populate ?? undefined,
});

const toDocument = ({ id, data, permissions, createdAt, updatedAt }: StoredDocument): ResolverSource => ({
  id: `"${id}"`,
  data: `{${data}}`,
  permissions: JSON.stringify(permissions),
  createdAt: `"${createdAt}"`,
  updatedAt: `"${updatedAt}"`,
});

const toPage = ({ total, documents }: DocumentPage): ResolverSource => ({
  total: String(total),
  documents: documents.map(toDocument),
});

function toCollections({ total, collections }: HandlerResult<typeof databasesApi.listCollections>): ResolverSource {
  return {
    total: String(total),
    collections: collections.map(({ $id, name, attributes }) => ({
      id: printJson($id),
      name: printJson(name),
      attributes: printJson(attributes),
    })),
  };
}

/** The root fields by type and name. */
const rootFields: Readonly<Record<'Query' | 'Mutation', Readonly<Record<string, RootField>>>> = {
  Query: {
    documentGet: rootField({
      declaration: documentValuesApi.get,
      input: (args) => ({ params: document(args), query: queries(args), body: undefined }),
      output: toDocument,
    }),
    documentList: rootField({
      declaration: documentValuesApi.list,
      input: (args) => ({ params: collection(args), query: queries(args), body: undefined }),
      output: toPage,
    }),
    collectionList: rootField({
      declaration: databasesApi.listCollections,
      input: ({ databaseId }) => ({ params: { databaseId }, query: { queries: [maxLimit] }, body: undefined }),
      output: toCollections,
    }),
  },
  Mutation: {
    documentCreate: rootField({
      declaration: documentValuesApi.create,
      input: (args) => ({
        params: collection(args),
        query: {},
        body: { documentId: args.documentId, data: args.data, permissions: args.permissions },
      }),
      output: toDocument,
    }),
    documentUpdate: rootField({
      declaration: documentValuesApi.update,
      input: (args) => ({
        params: document(args),
        query: {},
        body: { data: args.data, permissions: args.permissions },
      }),
      output: toDocument,
    }),
    documentDelete: rootField({
      declaration: documentValuesApi.delete,
      input: (args) => ({ params: document(args), query: {}, body: {} }),
      output: toDocument,
    }),
  },
};

/** A resolver as called by graphql-js. */
export type Resolver = (source: unknown, args: Arguments, caller: GraphqlCaller) => Promise<ResolverSource>;

/** The resolvers of the root fields, by type and name. */
export type Resolvers = Readonly<Record<'Query' | 'Mutation', Readonly<Record<string, Resolver>>>>;

/** Creates the resolvers of all root fields. Each invokes the same operation as REST. */
export function createResolvers(operations: readonly Operation[]): Resolvers {
  const bind = ({ declaration, input, output }: RootField): Resolver => {
    const operation = operations.find((each) => each.declaration === declaration);
    if (operation === undefined) throw new Error(`no operation ${declaration.id}`);
    return async (_source, args, caller) => {
      const result = await invoke(operation, { ...caller, ...input(args) });
      return output(result as HandlerResult<Declaration>);
    };
  };
  const all = (fields: Readonly<Record<string, RootField>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, bind(field)]));
  return { Query: all(rootFields.Query), Mutation: all(rootFields.Mutation) };
}
