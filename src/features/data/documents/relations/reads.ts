import { Failure } from '#src/contract/errors.js';
import { queryBounds, relationLimits } from '#src/contract/limits.js';
import type { Measured } from '#src/contract/response-budget.js';
import type { Row } from '#src/platform/db/table.js';
import { createTableLocks } from '#src/platform/db/table-locks.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../../databases/index.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { DocumentPage, StoredDocument } from '../model/document.js';
import { documentsOf, toDocument } from '../model/row.js';
import { createLinkReads } from './link-reads.js';
import { branchOf, printedKeys } from './paths.js';
import { planOf } from './plan.js';
import { createPopulate } from './populate.js';

/** Selection of a read. */
interface Wanted {
  readonly select: readonly string[] | null;
  /** Paths of the selection to attributes of related documents. */
  readonly paths: readonly string[];
  readonly populate: readonly string[];
}

/** Reads documents with related ones. */
export interface RelatedReads {
  /** Reads one document. `read` throws if the caller may not see it. */
  get(
    where: CollectionContext,
    collection: Collection,
    wanted: Wanted,
    read: (reader: Reader, select: readonly string[] | null, maxBytes: number) => Promise<Row>,
  ): Promise<StoredDocument>;
  /** Reads a page of a list. `read` returns it as values. */
  list(
    where: CollectionContext,
    collection: Collection,
    wanted: Wanted,
    read: (
      reader: Reader,
      select: readonly string[] | null,
      maxBytes: number,
    ) => Promise<Measured<{ readonly total: number; readonly documents: string }>>,
  ): Promise<DocumentPage>;
}

/** Creates the reads of documents with related ones. Each read uses one snapshot. */
export function createRelatedReads({ db, sql }: Pick<Runtime, 'db' | 'sql'>, collections: Collections): RelatedReads {
  const tables = createTableLocks(sql);
  const populate = createPopulate(createLinkReads(sql), collections);
  const prepare = async (where: CollectionContext, collection: Collection, wanted: Wanted) => {
    requireFew(wanted);
    const branch = branchOf(wanted.select, wanted.paths, wanted.populate);
    const select = printedKeys(collection, branch);
    return { select, plan: await planOf(collections, where, collection, branch) };
  };
  return {
    get: async (where, collection, wanted, read) => {
      const { select, plan } = await prepare(where, collection, wanted);
      return where.budget.read((maxBytes) =>
        db.lists(where.reading).snapshot(async (reader) => {
          await tables.use(reader, [collection]);
          const row = await read(reader, select, maxBytes);
          if (row.data === null) return { bytes: Number(row.bytes) };
          const look = await populate(reader, plan, [toDocument(collection, row)], maxBytes);
          return { bytes: look.bytes, value: look.value?.[0] };
        }),
      );
    },
    list: async (where, collection, wanted, read) => {
      const { select, plan } = await prepare(where, collection, wanted);
      return where.budget.read((maxBytes) =>
        db.lists(where.reading).snapshot(async (reader) => {
          await tables.use(reader, [collection]);
          const { bytes, value } = await read(reader, select, maxBytes);
          if (value === undefined) return { bytes };
          const look = await populate(reader, plan, documentsOf(collection, value.documents), maxBytes);
          return {
            bytes: look.bytes,
            value: look.value && { total: value.total, documents: look.value },
          };
        }),
      );
    },
  };
}

/** Throws Failure if there are too many paths. Called before they are parsed. */
function requireFew({ paths, populate }: Wanted): void {
  const most = relationLimits.followed * relationLimits.levels;
  if (populate.length > most || paths.length > queryBounds.values)
    throw new Failure('general_query_limit_exceeded', { message: `A read takes at most ${most} paths to populate.` });
}
