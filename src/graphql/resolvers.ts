import { Failure } from '#src/contract/errors.js';
import { type Declaration, invoke, type Operation, type RawCall } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import { databasesApi } from '#src/features/databases/index.js';
import { documentsApi } from '#src/features/documents/index.js';
import { parseJson } from '#src/platform/json.js';

/** What every resolver of a request shares: who calls, and what they may do. */
export type Caller = Pick<RawCall, 'project' | 'actor' | 'request'>;

type Arguments = Readonly<Record<string, unknown>>;
type Input = Pick<RawCall, 'params' | 'query' | 'body'>;

/** How a field is answered: by which operation, with what of its arguments, and what becomes of the reply. */
interface Row {
  readonly declaration: Declaration;
  readonly input: (args: Arguments) => Input;
  readonly output: (reply: unknown) => unknown;
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

type Printed = Readonly<Record<string, unknown>>;

function toDocument({ $id, $permissions, $createdAt, $updatedAt, ...rest }: Printed) {
  const data = Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith('$')));
  return { id: $id, data, permissions: $permissions, createdAt: $createdAt, updatedAt: $updatedAt };
}

/** A reply that is JSON text; the domain prints documents only as that. */
function parsed(reply: unknown): Printed {
  return parseJson(reply instanceof RawJson ? reply.text : '{}') as Printed;
}

const documentOf = (reply: unknown) => toDocument(parsed(reply));

function toCollections(reply: unknown) {
  const { total, collections } = reply as {
    total: number;
    collections: { $id: string; name: string; attributes: unknown[] }[];
  };
  return { total, collections: collections.map(({ $id, name, attributes }) => ({ id: $id, name, attributes })) };
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
      output: (reply) => {
        const { total, documents } = parsed(reply) as { total: number; documents: Printed[] };
        return { total, documents: documents.map(toDocument) };
      },
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
export type Resolver = (source: unknown, args: Arguments, caller: Caller) => Promise<unknown>;

/** The resolvers of all root fields; each goes through the same door as REST. */
export function createResolvers(
  operations: readonly Operation[],
): Readonly<Record<'Query' | 'Mutation', Readonly<Record<string, Resolver>>>> {
  const bind = ({ declaration, input, output }: Row): Resolver => {
    const operation = operations.find((one) => one.declaration === declaration);
    if (operation === undefined) throw new Error(`no operation ${declaration.id}`);
    return async (_source, args, caller) => output(await invoke(operation, { ...caller, ...input(args) }));
  };
  const all = (fields: Readonly<Record<string, Row>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, row]) => [name, bind(row)]));
  return { Query: all(rows.Query), Mutation: all(rows.Mutation) };
}
