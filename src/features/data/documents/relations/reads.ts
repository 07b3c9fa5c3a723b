import { Failure } from '#src/contract/errors.js';
import { queryBounds, relationLimits } from '#src/contract/limits.js';
import { type AnswerReader, readAnswer } from '#src/platform/db/answer-reader.js';
import { createTableLocks } from '#src/platform/db/table-locks.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../../databases/index.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { DocumentPage, StoredDocument } from '../model/document.js';
import { documentsOf } from '../model/row.js';
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
    read: (reader: AnswerReader, select: readonly string[] | null) => Promise<StoredDocument>,
  ): Promise<StoredDocument>;
  /** Reads a page of a list. `read` returns it as values. */
  list(
    where: CollectionContext,
    collection: Collection,
    wanted: Wanted,
    read: (
      reader: AnswerReader,
      select: readonly string[] | null,
    ) => Promise<{ readonly total: number; readonly documents: string }>,
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
      return readAnswer(db, where, async (reader) => {
        await tables.use(reader, [collection]);
        const document = await read(reader, select);
        return (await populate(reader, plan, [document]))[0] ?? document;
      });
    },
    list: async (where, collection, wanted, read) => {
      const { select, plan } = await prepare(where, collection, wanted);
      return readAnswer(db, where, async (reader) => {
        await tables.use(reader, [collection]);
        const { total, documents } = await read(reader, select);
        return { total, documents: await populate(reader, plan, documentsOf(collection, documents)) };
      });
    },
  };
}

/** Throws Failure if there are too many paths. Called before they are parsed. */
function requireFew({ paths, populate }: Wanted): void {
  const most = relationLimits.followed * relationLimits.levels;
  if (populate.length > most || paths.length > queryBounds.values)
    throw new Failure('general_query_limit_exceeded', { message: `A read takes at most ${most} paths to populate.` });
}
