import type { Collection } from '#src/features/index.js';
import { namesOf, printKey, typesOf } from './typescript.js';

/** First words of a generated file. Other files are never overwritten. */
export const clientMark = '// Made by `svc gen client`';

/** The part that is the same for every project. */
const collectionClass = `
type Key<T> = Extract<keyof T, string>;
type Known<T> = T extends readonly (infer E)[] ? NonNullable<E> : NonNullable<T>;
/** A value that the attribute of a document is compared with. A relationship is compared by id. */
type Value<T, K extends Key<T>> = Extract<Known<T[K]>, string | number | bigint | boolean>;

/** The queries of a collection. Other queries are made with \`Query\` of the SDK. */
export class Queries<T> {
  equal = <K extends Key<T>>(key: K, value: Value<T, K> | readonly Value<T, K>[]) => Query.equal(key, value as never);
  notEqual = <K extends Key<T>>(key: K, value: Value<T, K>) => Query.notEqual(key, value as never);
  lessThan = <K extends Key<T>>(key: K, value: Value<T, K>) => Query.lessThan(key, value as never);
  lessThanEqual = <K extends Key<T>>(key: K, value: Value<T, K>) => Query.lessThanEqual(key, value as never);
  greaterThan = <K extends Key<T>>(key: K, value: Value<T, K>) => Query.greaterThan(key, value as never);
  greaterThanEqual = <K extends Key<T>>(key: K, value: Value<T, K>) => Query.greaterThanEqual(key, value as never);
  between = <K extends Key<T>>(key: K, from: Value<T, K>, to: Value<T, K>) =>
    Query.between(key, from as never, to as never);
  contains = <K extends Key<T>>(key: K, value: Value<T, K> | readonly Value<T, K>[]) =>
    Query.contains(key, value as never);
  startsWith = (key: Key<T>, text: string) => Query.startsWith(key, text);
  endsWith = (key: Key<T>, text: string) => Query.endsWith(key, text);
  search = (key: Key<T>, text: string) => Query.search(key, text);
  isNull = (key: Key<T>) => Query.isNull(key);
  isNotNull = (key: Key<T>) => Query.isNotNull(key);
  and = (queries: string[]) => Query.and(queries);
  or = (queries: string[]) => Query.or(queries);
  select = (keys: (Key<T> | '*' | \`\${Key<T>}.\${string}\`)[]) => Query.select(keys);
  orderAsc = (key: Key<T>) => Query.orderAsc(key);
  orderDesc = (key: Key<T>) => Query.orderDesc(key);
  limit = (count: number) => Query.limit(count);
  offset = (count: number) => Query.offset(count);
  cursorAfter = (id: string) => Query.cursorAfter(id);
  cursorBefore = (id: string) => Query.cursorBefore(id);
}

/** The documents of a collection: \`T\` is read, \`Data\` makes a new one, \`Changes\` changes one. */
export class Collection<T extends Models.Document, Data, Changes> {
  private readonly queries = new Queries<T>();

  constructor(
    private readonly databases: Databases,
    readonly databaseId: string,
    readonly collectionId: string,
  ) {}

  private place() {
    return { databaseId: this.databaseId, collectionId: this.collectionId };
  }

  /** A page of documents: 25 without \`limit\`. */
  list(query: (q: Queries<T>) => string[] = () => []): Promise<Models.DocumentList<T>> {
    return this.databases.listDocuments<T>({ ...this.place(), queries: query(this.queries) });
  }

  /** All documents that match, page by page. The query has no limit, offset or cursor. */
  async *each(query: (q: Queries<T>) => string[] = () => []): AsyncGenerator<T> {
    const size = 100;
    for (let last: string | undefined; ; ) {
      const after = last === undefined ? [] : [Query.cursorAfter(last)];
      const queries = [...query(this.queries), Query.limit(size), ...after];
      const { documents } = await this.databases.listDocuments<T>({ ...this.place(), queries, total: false } as never);
      yield* documents;
      last = documents.at(-1)?.$id;
      if (documents.length < size) return;
    }
  }

  get(id: string, query: (q: Queries<T>) => string[] = () => []): Promise<T> {
    return this.databases.getDocument<T>({ ...this.place(), documentId: id, queries: query(this.queries) });
  }

  create(data: Data, { id = ID.unique(), permissions }: { id?: string; permissions?: string[] } = {}): Promise<T> {
    const document = { ...this.place(), documentId: id, data, permissions };
    return this.databases.createDocument(document as never) as unknown as Promise<T>;
  }

  update(id: string, changes: Changes, { permissions }: { permissions?: string[] } = {}): Promise<T> {
    const document = { ...this.place(), documentId: id, data: changes, permissions };
    return this.databases.updateDocument(document as never) as unknown as Promise<T>;
  }

  /** Creates the document, or changes the one with this id. */
  upsert(id: string, data: Data, { permissions }: { permissions?: string[] } = {}): Promise<T> {
    const document = { ...this.place(), documentId: id, data, permissions };
    return this.databases.upsertDocument(document as never) as unknown as Promise<T>;
  }

  async delete(id: string): Promise<void> {
    await this.databases.deleteDocument({ ...this.place(), documentId: id });
  }
}
`;

/** Prints a TypeScript module with a typed client of the collections of a project, over an SDK. */
export function typedClientOf(projectId: string, collections: readonly Collection[], sdk: string): string {
  const names = namesOf(collections);
  const [, ...types] = typesOf(collections, sdk).split('\n');
  const databases = [...new Set(collections.map(({ databaseId }) => databaseId))];
  const members = databases.flatMap((databaseId) => [
    `    ${printKey(databaseId)}: {`,
    ...collections
      .filter((collection) => collection.databaseId === databaseId)
      .map(({ number, id }) => {
        const name = names.get(number);
        const place = [databaseId, id].map((word) => JSON.stringify(word)).join(', ');
        return `      ${printKey(id)}: new Collection<${name}, ${name}Data, ${name}Changes>(databases, ${place}),`;
      }),
    '    },',
  ]);
  return [
    `${clientMark} for the project ${projectId}. Run it again after a change of the collections.`,
    `import { type Client, Databases, ID, type Models, Query } from '${sdk}';`,
    ...types,
    collectionClass,
    '/** The collections of the project, by database. */',
    'export function createCollections(client: Client) {',
    '  const databases = new Databases(client);',
    '  return {',
    ...members,
    '  };',
    '}',
    '',
  ].join('\n');
}
