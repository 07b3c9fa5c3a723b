import type { Look } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import type { Loader } from '#src/platform/db/batch.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { createSharedRead } from '#src/platform/db/shared-read.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../databases/index.js';
import { grants, isReadable, visibilityOf } from './access.js';
import type { Collections, Where } from './collections.js';
import type { DocumentPage, StoredDocument } from './document.js';
import { demandCurrent } from './errors.js';
import type { ListPage, PageForm } from './list-store.js';
import type { CountUpTo } from './query/page.js';
import { createListParser, type DocumentQuery, type ParsedList, parseQueries } from './query/parse.js';
import { createPlaces } from './query/places.js';
import { createReaderCounts, maxCounted } from './query/reader-counts.js';
import { routeOf, type Visibility } from './query/sources.js';
import { createRelatedReads } from './relations/reads.js';
import { documentsOf, toDocument } from './row.js';
import type { WatchList } from './scans/index.js';
import { printDocument } from './serializer.js';
import type { Documents } from './service.js';
import type { DocumentStore } from './store.js';

/** A page as the database prints it. */
interface PageText {
  readonly total: number;
  readonly documents: string;
}

interface ListCall {
  readonly queries: readonly string[];
  readonly total: 'exact' | boolean;
  readonly populate: readonly string[] | undefined;
}

/** Reads of documents. */
export function createReads(
  runtime: Pick<Runtime, 'db' | 'sql' | 'config' | 'clock'>,
  collections: Collections,
  store: DocumentStore,
  watch: WatchList,
): Pick<Documents, 'get' | 'list' | 'printedList'> {
  const { db, sql, config } = runtime;
  const parseList = createListParser();
  const readerCounts = createReaderCounts(runtime, store.readerCounts);
  const sharedRead = createSharedRead(db, sql);
  const related = createRelatedReads(runtime, collections);
  const countUpTo = (request: DocumentQuery, visibility: Visibility, total: 'exact' | boolean): CountUpTo => {
    if (total === false) return 0;
    const unfiltered = request.conditions.length === 0 && visibility === 'everything';
    return total === 'exact' || unfiltered || config.totalLimit === 0 ? 'exact' : config.totalLimit;
  };
  const cursorPlace = createPlaces(runtime, store.places);
  const pageOf = (where: Where, collection: Collection, request: DocumentQuery, page: ListPage) => {
    const shared = store.sharedList(collection, request, page);
    return shared === undefined
      ? db.lists(where.reading).one(store.list(collection, request, page))
      : sharedRead(shared, where.reading);
  };
  const chooseRoute = async (
    where: Where,
    collection: Collection,
    request: DocumentQuery,
    visibility: Visibility,
    count: CountUpTo,
  ): Promise<Pick<ListPage, 'visibility' | 'route' | 'widest'>> => {
    if (visibility === 'everything') return { visibility, route: 'all', widest: undefined };
    const counts = await readerCounts(db.lists(where.reading), collection, visibility);
    const { roles, ofFirst } = counts;
    const isCounted = count !== 0 && count !== 'exact' && ofFirst >= Math.min(count, maxCounted);
    const route = routeOf(collection, request, counts);
    return { visibility: roles, route, widest: isCounted ? roles[0] : undefined };
  };
  /** A page as the database prints it: one text, within the bytes that the answer may have. */
  const pageReader = async (
    where: Where,
    collection: Collection,
    parsed: ParsedList,
    visibility: Visibility,
    total: 'exact' | boolean,
    form: PageForm,
  ) => {
    const { query: request } = parsed;
    const count = countUpTo(request, visibility, total);
    const way = await chooseRoute(where, collection, request, visibility, count);
    /** Within a snapshot of the caller where there is one. */
    return (maxBytes: number, snapshot?: Reader, select = request.select): Promise<Look<PageText>> => {
      const read = async (watched: Where) => {
        // The page goes on from where the document was a moment before; it is of one state with its total.
        const cursor = await cursorPlace(snapshot, watched, collection, parsed);
        const page = { ...way, cursor, count, maxBytes, form };
        if (snapshot === undefined) return pageOf(watched, collection, request, page);
        return snapshot.one(store.list(collection, { ...request, select }, page));
      };
      const look = async (): Promise<Look<PageText>> => {
        const row = await watch(where, collection, request, async (watched) => {
          const found = await read(watched);
          demandCurrent(collection, found?.version);
          return found;
        });
        const documents = String(row?.documents ?? '');
        if (documents.startsWith('!')) return { bytes: Number(documents.slice(1)) };
        return { bytes: Buffer.byteLength(documents), value: { total: Number(row?.total), documents } };
      };
      return look().catch(tooLongToMeasure);
    };
  };
  /** A page of a list: as text, or as documents where relationships are followed. */
  const list = async (
    where: Where,
    collection: Collection,
    { queries, total, populate = [] }: ListCall,
    form: PageForm,
  ): Promise<PageText | DocumentPage> => {
    const visibility = visibilityOf(where, collection);
    const parsed = parseList(queries, collection);
    const { query: request } = parsed;
    if (request.paths.length + populate.length === 0) {
      const look = await pageReader(where, collection, parsed, visibility, total, form);
      return where.room.read((maxBytes) => look(maxBytes));
    }
    const look = await pageReader(where, collection, parsed, visibility, total, 'values');
    return related.list(where, collection, { ...request, populate }, (reader, select, maxBytes) =>
      look(maxBytes, reader, select),
    );
  };
  /** A single document within the bytes that are allowed, from its row or, where it is long, read alone. */
  const lookAt =
    (
      collection: Collection,
      id: string,
      select: readonly string[] | null,
      visible: (row: Row | undefined) => Row,
      lookup: Loader<Row>,
    ) =>
    async (maxBytes: number): Promise<Look<StoredDocument>> => {
      const looked = (row: Row): Look<StoredDocument> => ({
        bytes: Number(row.bytes),
        value: row.data === null ? undefined : toDocument(collection, row),
      });
      if (select === null) {
        const short = looked(visible(await lookup(id)));
        if (short.value !== undefined || short.bytes > maxBytes) return short;
      }
      return looked(visible(await db.one(store.one(collection, id, select, maxBytes))));
    };

  return {
    get: (where, id, queries = [], populate = []) =>
      collections.use(where, async (collection, { lookup }) => {
        const visible = (row: Row | undefined): Row => {
          if (row === undefined) throw new Failure('document_not_found');
          demandCurrent(collection, row.version);
          const isGranted = grants(where, collection, 'read');
          if (!isGranted && !isReadable(where, collection, JSON.parse(String(row.permissions))))
            throw new Failure('document_not_found');
          return row;
        };
        if (queries.length + populate.length === 0)
          return where.room.read(lookAt(collection, id, null, visible, lookup));
        // First of all, as what is wrong with a query tells of the attributes.
        if (!grants(where, collection, 'read')) visible(await lookup(id));
        const { select, paths, ...rest } = parseQueries(queries, collection);
        if (rest.conditions.length > 0 || rest.orders.length > 0 || rest.cursor !== null) {
          throw new Failure('general_query_invalid', {
            message: 'Invalid query: a single document takes select only.',
          });
        }
        if (paths.length + populate.length === 0)
          return where.room.read(lookAt(collection, id, select, visible, lookup));
        return related.get(where, collection, { select, paths, populate }, async (reader, keys, maxBytes) =>
          visible(await reader.one(store.one(collection, id, keys, maxBytes))),
        );
      }),
    list: (where, queries, total, populate) =>
      collections.use(where, async (collection) => {
        const { documents, ...page } = await list(where, collection, { queries, total, populate }, 'values');
        return { ...page, documents: typeof documents === 'string' ? documentsOf(collection, documents) : documents };
      }),
    printedList: (where, queries, total, populate) =>
      collections.use(where, async (collection) => {
        const { documents, ...page } = await list(where, collection, { queries, total, populate }, 'printed');
        return { ...page, documents: typeof documents === 'string' ? documents : printAll(documents) };
      }),
  };
}

function printAll(documents: readonly StoredDocument[]): string {
  return documents.map((document) => printDocument(document).join('')).join(',');
}

/** Far beyond its bytes a list is not measured: SQLite only says that it is too long. */
function tooLongToMeasure(error: unknown): Look<never> {
  if (error instanceof DatabaseError && error.kind === 'tooLong') return { bytes: Number.POSITIVE_INFINITY };
  throw error;
}
