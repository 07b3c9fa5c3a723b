import { Failure } from '#src/contract/errors.js';
import type { Reading } from '#src/contract/reading.js';
import type { ByteAllowance } from '#src/contract/response-budget.js';
import type { Config } from '#src/platform/config/schema.js';
import type { Loader } from '#src/platform/db/batch.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { createSharedRead, type SharedQuery } from '#src/platform/db/shared-read.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../../databases/index.js';
import { collectionGrants, isReadable, visibilityOf } from '../access/access.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { Documents } from '../access/service.js';
import type { DocumentPage, StoredDocument } from '../model/document.js';
import { openedPage } from '../model/encryption.js';
import { documentsOf, toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { createKnownTotals, type KnownTotals } from '../query/known-totals.js';
import type { CountUpTo } from '../query/page.js';
import { createListParser, type DocumentQuery, type ParsedList, type ParseList, parseQueries } from '../query/parse.js';
import { createReaderCounts, maxCounted, type ReaderCounts } from '../query/reader-counts.js';
import { routeOf, type Visibility } from '../query/sources.js';
import { createRelatedFilters, type WithRelated } from '../relations/filters.js';
import { createRelatedReads, type RelatedReads } from '../relations/reads.js';
import type { WatchList } from '../scans/index.js';
import { requireCurrent, SchemaChanged } from '../store/errors.js';
import type { ListPage, PageForm } from '../store/list-store.js';
import type { DocumentStore } from '../store/store.js';
import { type CursorLookup, createCursorLookup } from './places.js';

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

interface Deps {
  readonly db: Runtime['db'];
  readonly config: Pick<Config, 'totalLimit'>;
  readonly collections: Collections;
  readonly store: DocumentStore;
  readonly watch: WatchList;
  readonly parseList: ParseList;
  readonly readerCounts: ReaderCounts;
  readonly knownTotals: KnownTotals;
  readonly sharedRead: (query: SharedQuery, reading: Reading) => Promise<Row | undefined>;
  readonly related: RelatedReads;
  readonly withRelated: WithRelated;
  readonly cursorPlace: CursorLookup;
}

/** Creates the reads of documents. */
export function createDocumentReads(
  runtime: Pick<Runtime, 'db' | 'sql' | 'config' | 'clock'>,
  collections: Collections,
  store: DocumentStore,
  watch: WatchList,
): Pick<Documents, 'get' | 'list' | 'printedList'> {
  const { db, sql, config } = runtime;
  const deps: Deps = {
    db,
    config,
    collections,
    store,
    watch,
    parseList: createListParser(),
    readerCounts: createReaderCounts(runtime, store.readerCounts),
    knownTotals: createKnownTotals(),
    sharedRead: createSharedRead(db, sql),
    related: createRelatedReads(runtime, collections),
    withRelated: createRelatedFilters(sql, collections),
    cursorPlace: createCursorLookup(runtime, store.places),
  };
  return {
    get: (where, id, queries, populate) =>
      collections.use(where, (collection, { lookup }) => get(deps, where, collection, id, lookup, queries, populate)),
    list: (where, queries, total, populate) =>
      collections.use(where, async (collection) => {
        const { documents, ...page } = await list(deps, where, collection, { queries, total, populate }, 'values');
        return { ...page, documents: typeof documents === 'string' ? documentsOf(collection, documents) : documents };
      }),
    printedList: (where, queries, total, populate) =>
      collections.use(where, async (collection) => {
        const { documents, ...page } = await list(deps, where, collection, { queries, total, populate }, 'printed');
        return { ...page, documents: printed(collection, documents) };
      }),
  };
}

async function get(
  deps: Deps,
  where: CollectionContext,
  collection: Collection,
  id: string,
  lookup: Loader<Row>,
  queries: readonly string[] = [],
  populate: readonly string[] = [],
): Promise<StoredDocument> {
  const look = (select: readonly string[] | null) => lookAt(deps, where, collection, id, select, lookup);
  if (queries.length + populate.length === 0) return where.budget.read(look(null));
  // First, because an error about a query reveals attributes.
  if (!collectionGrants(where, collection, 'read')) visible(where, collection, await lookup(id));
  const { select, paths, ...rest } = parseQueries(queries, collection);
  if (rest.conditions.length > 0 || rest.orders.length > 0 || rest.cursor !== null)
    throw new Failure('general_query_invalid', { message: 'Invalid query: a single document takes select only.' });
  if (paths.length + populate.length === 0) return where.budget.read(look(select));
  return deps.related.get(where, collection, { select, paths, populate }, async (reader, keys) => {
    const row = await reader.one(deps.store.one(collection, id, keys, reader.bytes.left));
    return documentWithin(reader.bytes, collection, visible(where, collection, row));
  });
}

/** Reads a single document within the byte limit. Long documents need a read of their own. */
function lookAt(
  { db, store }: Deps,
  where: CollectionContext,
  collection: Collection,
  id: string,
  select: readonly string[] | null,
  lookup: Loader<Row>,
) {
  return async (bytes: ByteAllowance): Promise<StoredDocument> => {
    if (select === null) {
      const short = visible(where, collection, await lookup(id));
      if (short.data !== null || Number(short.bytes) > bytes.left) return documentWithin(bytes, collection, short);
    }
    const row = await db.one(store.one(collection, id, select, bytes.left));
    return documentWithin(bytes, collection, visible(where, collection, row));
  };
}

/** Counts and returns the document of a row. One that is too long for the attempt comes without its attributes. */
function documentWithin(bytes: ByteAllowance, collection: Collection, row: Row): StoredDocument {
  if (row.data === null) bytes.require(Number(row.bytes));
  bytes.count(Number(row.bytes));
  return toDocument(collection, row);
}

/** Returns the row of a document, or throws if the caller may not see it. */
function visible(where: CollectionContext, collection: Collection, row: Row | undefined): Row {
  if (row === undefined) throw new Failure('document_not_found');
  requireCurrent(collection, row.version);
  const isGranted = collectionGrants(where, collection, 'read');
  if (!isGranted && !isReadable(where, collection, JSON.parse(String(row.permissions))))
    throw new Failure('document_not_found');
  return row;
}

/** Reads a page of a list: as text, or as documents if relationships are followed. */
async function list(
  deps: Deps,
  where: CollectionContext,
  collection: Collection,
  { queries, total, populate = [] }: ListCall,
  form: PageForm,
): Promise<PageText | DocumentPage> {
  const visibility = visibilityOf(where, collection);
  const parsed = await deps.withRelated(where, collection, (filters) => deps.parseList(queries, collection, filters));
  const { query: request } = parsed;
  if (request.paths.length + populate.length + request.related.length === 0) {
    const look = await pageReader(deps, where, collection, parsed, visibility, total, form);
    return where.budget.read((bytes) => look(bytes));
  }
  const look = await pageReader(deps, where, collection, parsed, visibility, total, 'values');
  return deps.related.list(where, collection, { ...request, populate }, (reader, select) =>
    look(reader.bytes, reader, select),
  );
}

/** Reads a page printed by the database as one text, within the byte limit of the response. */
async function pageReader(
  deps: Deps,
  where: CollectionContext,
  collection: Collection,
  parsed: ParsedList,
  visibility: Visibility,
  total: 'exact' | boolean,
  form: PageForm,
) {
  const { db, store, cursorPlace, sharedRead, knownTotals } = deps;
  const { query: request } = parsed;
  const count = countUpTo(request, visibility, total, deps.config);
  const way = await chooseRoute(deps, where, collection, request, visibility, count);
  const totalKey = store.totalKey(collection, request, { ...way, count });
  /** Within a snapshot of the caller, if it has one. */
  return async (bytes: ByteAllowance, snapshot?: Reader, select = request.select): Promise<PageText> => {
    const read = async (watched: CollectionContext) => {
      // The page starts at the position that the cursor's document had a moment before. Page and total are of one snapshot.
      const cursor = await cursorPlace(snapshot, watched, collection, parsed);
      const page = { ...way, cursor, count, maxBytes: bytes.left, form };
      // It may be a unit, whose own changes others do not see.
      if (snapshot !== undefined) return snapshot.one(store.list(collection, { ...request, select }, page));
      if (totalKey === undefined) return readAlone(watched, page);
      const known = knownTotals.get(totalKey);
      const row = await readAlone(watched, { ...page, known });
      // The key names the version. A row of another version is discarded by the caller.
      if (row === undefined || String(row.version) !== String(collection.version)) return row;
      return { ...row, total: knownTotals.read(totalKey, known, row.total) };
    };
    const readAlone = async (watched: CollectionContext, page: ListPage) => {
      const shared = store.sharedList(collection, request, page);
      if (shared !== undefined) return sharedRead(shared, watched.reading);
      return db.lists(watched.reading).one(store.list(collection, request, page));
    };
    const row = await lookAtPage(deps, where, collection, request, read).catch((error: unknown) => {
      // SQLite reports the size of a list only up to its own limit; beyond that it only says that the list is too long.
      if (error instanceof DatabaseError && error.kind === 'tooLong') bytes.require(Number.POSITIVE_INFINITY);
      throw error;
    });
    const documents = String(row?.documents ?? '');
    if (documents.startsWith('!')) bytes.require(Number(documents.slice(1)));
    bytes.count(Buffer.byteLength(documents));
    return { total: Number(row?.total), documents };
  };
}

async function chooseRoute(
  { db, readerCounts }: Deps,
  where: CollectionContext,
  collection: Collection,
  request: DocumentQuery,
  visibility: Visibility,
  count: CountUpTo,
): Promise<Pick<ListPage, 'visibility' | 'route' | 'widest' | 'absent'>> {
  if (visibility === 'everything') return { visibility, route: 'all', widest: undefined, absent: [] };
  const counts = await readerCounts(db.lists(where.reading), collection, visibility);
  const { roles, absent, ofFirst } = counts;
  const isCounted = count !== 0 && count !== 'exact' && ofFirst >= Math.min(count, maxCounted);
  const route = routeOf(collection, request, counts);
  return { visibility: roles, route, widest: isCounted ? roles[0] : undefined, absent };
}

function lookAtPage(
  { watch, collections }: Deps,
  where: CollectionContext,
  collection: Collection,
  request: DocumentQuery,
  read: (watched: CollectionContext) => Promise<Row | undefined>,
): Promise<Row | undefined> {
  return watch(where, collection, request, async (watched) => {
    const found = await read(watched);
    requireVersions(collection, request, found?.version);
    return found;
  }).catch((error: unknown) => {
    // It may name a removed attribute of a related collection; the next attempt reads that collection again.
    for (const { id } of request.related) collections.forget({ ...where, collectionId: id });
    throw error;
  });
}

function printed(collection: Collection, documents: string | readonly StoredDocument[]): string {
  if (typeof documents === 'string') return openedPage(collection, documents);
  return documents.map((document) => printDocument(document).join('')).join(',');
}

/** Throws if a list was read with other schemas than those that it was parsed for. */
function requireVersions(collection: Collection, request: DocumentQuery, version: unknown): void {
  const expected = [collection, ...request.related].map((one) => one.version).join(',');
  if (String(version) !== expected) throw new SchemaChanged();
}

function countUpTo(
  request: DocumentQuery,
  visibility: Visibility,
  total: 'exact' | boolean,
  { totalLimit }: Pick<Config, 'totalLimit'>,
): CountUpTo {
  if (total === false) return 0;
  const unfiltered = request.conditions.length === 0 && visibility === 'everything';
  return total === 'exact' || unfiltered || totalLimit === 0 ? 'exact' : totalLimit;
}
