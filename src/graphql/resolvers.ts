import { queryBounds } from '#src/contract/limits.js';
import { type Declaration, type HandlerResult, invoke, type Operation, type RawCall } from '#src/contract/operation.js';
import { databasesApi } from '#src/features/data/databases/index.js';
import { type DocumentPage, documentValuesApi, type StoredDocument } from '#src/features/data/documents/index.js';
import { printJson } from '#src/platform/json.js';

/** What every resolver of a request shares: who calls, and what they may do. */
export type Caller = Pick<RawCall, 'project' | 'actor' | 'request'>;

type Arguments = Readonly<Record<string, unknown>>;
type Input = Pick<RawCall, 'params' | 'query' | 'body'>;

/** The values of an object's fields by name. A value without fields of its own is JSON text, and so is a list of them. */
export interface Source {
  readonly [field: string]: string | Source | readonly Source[];
}

/** A root field: the operation that it calls, the operation's input from its arguments, and the field's source from the operation's result. */
interface RootField<D extends Declaration = Declaration> {
  readonly declaration: D;
  readonly input: (args: Arguments) => Input;
  readonly output: (result: HandlerResult<D>) => Source;
}

/** Checks that a root field reads the result that its own operation has; a table of fields can only hold them widened. */
function rootField<D extends Declaration>(field: RootField<D>): RootField {
  return field as unknown as RootField;
}

const collection = ({ databaseId, collectionId }: Arguments) => ({ databaseId, collectionId });
const document = (args: Arguments) => ({ ...collection(args), documentId: args.documentId });

/** The field takes no queries, so it asks for as many as a list can have. */
const maxLimit = JSON.stringify({ method: 'limit', values: [queryBounds.limit] });

const queries = ({ queries: list, populate }: Arguments) => ({
  queries: list ?? undefined,
  populate: populate ?? undefined,
});

const toDocument = ({ id, data, permissions, createdAt, updatedAt }: StoredDocument): Source => ({
  id: `"${id}"`,
  data: `{${data}}`,
  permissions: JSON.stringify(permissions),
  createdAt: `"${createdAt}"`,
  updatedAt: `"${updatedAt}"`,
});

const toPage = ({ total, documents }: DocumentPage): Source => ({
  total: String(total),
  documents: documents.map(toDocument),
});

function toCollections({ total, collections }: HandlerResult<typeof databasesApi.listCollections>): Source {
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

/** A resolver as graphql-js calls it. */
export type Resolver = (source: unknown, args: Arguments, caller: Caller) => Promise<Source>;

/** The resolvers of the root fields, by type and name. */
export type Resolvers = Readonly<Record<'Query' | 'Mutation', Readonly<Record<string, Resolver>>>>;

/** The resolvers of all root fields; each invokes the operation that REST invokes. */
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
