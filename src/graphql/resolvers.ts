import { Failure } from '#src/contract/errors.js';
import { type Declaration, invoke, type Operation, type RawCall } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import { databasesApi } from '#src/features/databases/index.js';
import { documentsApi, pageOf, partsOf } from '#src/features/documents/index.js';
import { printJson } from '#src/platform/json.js';

/** What every resolver of a request shares: who calls, and what they may do. */
export type Caller = Pick<RawCall, 'project' | 'actor' | 'request'>;

type Arguments = Readonly<Record<string, unknown>>;
type Input = Pick<RawCall, 'params' | 'query' | 'body'>;

/** What the fields of an object are answered from, by name. Whatever has no fields of its own is JSON text, lists of such included. */
export interface Source {
  readonly [field: string]: string | Source | readonly Source[];
}

/** How a field is answered: by which operation, with what of its arguments, and what becomes of the reply. */
interface Row {
  readonly declaration: Declaration;
  readonly input: (args: Arguments) => Input;
  readonly output: (reply: unknown) => Source;
}

const collection = ({ databaseId, collectionId }: Arguments) => ({ databaseId, collectionId });
const document = (args: Arguments) => ({ ...collection(args), documentId: args.documentId });

/** Collections have no relationship attributes in this version, so there is nothing to follow. */
const queries = ({ queries: list, populate }: Arguments) => {
  const [first] = Array.isArray(populate) ? populate : [];
  if (first !== undefined)
    throw new Failure('general_query_invalid', {
      message: 'Invalid populate: the collection has no such relationship.',
    });
  return { queries: list ?? undefined };
};

/** The text of a reply; the domain prints documents only as that. */
function textOf(reply: unknown): string {
  if (!(reply instanceof RawJson)) throw new Error('the reply is no text');
  return reply.text;
}

const documentOf = (reply: unknown): Source => partsOf(textOf(reply));

function toCollections(reply: unknown): Source {
  const { total, collections } = reply as {
    total: number;
    collections: { $id: string; name: string; attributes: unknown[] }[];
  };
  return {
    total: String(total),
    collections: collections.map(({ $id, name, attributes }) => ({
      id: printJson($id),
      name: printJson(name),
      attributes: printJson(attributes),
    })),
  };
}

/** Field by field. */
const rows: Readonly<Record<'Query' | 'Mutation', Readonly<Record<string, Row>>>> = {
  Query: {
    documentGet: {
      declaration: documentsApi.get,
      input: (args) => ({ params: document(args), query: queries(args), body: undefined }),
      output: documentOf,
    },
    documentList: {
      declaration: documentsApi.list,
      input: (args) => ({ params: collection(args), query: queries(args), body: undefined }),
      output: (reply) => pageOf(textOf(reply)),
    },
    collectionList: {
      declaration: databasesApi.listCollections,
      input: ({ databaseId }) => ({ params: { databaseId }, query: {}, body: undefined }),
      output: toCollections,
    },
  },
  Mutation: {
    documentCreate: {
      declaration: documentsApi.create,
      input: (args) => ({
        params: collection(args),
        query: {},
        body: { documentId: args.documentId, data: args.data, permissions: args.permissions },
      }),
      output: documentOf,
    },
    documentUpdate: {
      declaration: documentsApi.update,
      input: (args) => ({
        params: document(args),
        query: {},
        body: { data: args.data, permissions: args.permissions },
      }),
      output: documentOf,
    },
    documentDelete: {
      declaration: documentsApi.delete,
      input: (args) => ({ params: document(args), query: {}, body: {} }),
      output: documentOf,
    },
  },
};

/** A resolver as graphql-js calls it. */
export type Resolver = (source: unknown, args: Arguments, caller: Caller) => Promise<Source>;

/** The resolvers of the root fields, by type and name. */
export type Resolvers = Readonly<Record<'Query' | 'Mutation', Readonly<Record<string, Resolver>>>>;

/** The resolvers of all root fields; each goes through the same door as REST. */
export function createResolvers(operations: readonly Operation[]): Resolvers {
  const bind = ({ declaration, input, output }: Row): Resolver => {
    const operation = operations.find((one) => one.declaration === declaration);
    if (operation === undefined) throw new Error(`no operation ${declaration.id}`);
    return async (_source, args, caller) => output(await invoke(operation, { ...caller, ...input(args) }));
  };
  const all = (fields: Readonly<Record<string, Row>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, row]) => [name, bind(row)]));
  return { Query: all(rows.Query), Mutation: all(rows.Mutation) };
}
