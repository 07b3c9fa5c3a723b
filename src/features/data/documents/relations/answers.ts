import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import type { ByteAllowance } from '#src/contract/response-budget.js';
import { attemptWithin } from '#src/platform/admission/byte-allowance.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { etagOf } from '#src/platform/text/etag.js';
import { type Collection, isToOne, type Relation, shownRelations } from '../../databases/index.js';
import { isReadable } from '../access/access.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { StoredDocument } from '../model/document.js';
import { toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { SchemaChanged } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';
import { createLinkReads } from './link-reads.js';
import { type Branch, printedKeys } from './paths.js';
import { planOf } from './plan.js';
import { createPopulate } from './populate.js';

type Data = Readonly<Record<string, unknown>>;

/** Reads the answer to a change within its unit. The answer replaces the document that the change returned. */
type NestedAnswer = (unit: Unit, changed: StoredDocument) => Promise<StoredDocument>;

/**
 * Prepares the answer of a change that contains related documents as objects. The answer shows these relationships like a read with
 * `populate`. The result is undefined if the data contains no such object; then nothing was read.
 */
export type NestedAnswers = (
  where: CollectionContext,
  collection: Collection,
  data: Data | undefined,
) => Promise<NestedAnswer | undefined>;

/** Creates the answers that show related documents. */
export function createNestedAnswers(
  { sql, config }: Pick<Runtime, 'sql' | 'config'>,
  collections: Collections,
  store: DocumentStore,
): NestedAnswers {
  const { answerMaxBytes } = config;
  const populate = createPopulate(createLinkReads(sql), collections);
  /**
   * Returns the relationships for which data contains objects. Skips collections that are disabled for the caller, because the change will
   * be refused.
   */
  const branchOf = async (
    where: CollectionContext,
    collection: Collection,
    given: readonly Data[],
    level = 1,
  ): Promise<Branch> => {
    const relations = new Map<string, Branch>();
    for (const relation of level > relationLimits.levels ? [] : shownRelations(collection)) {
      const nested = given.flatMap((data) => objectsOf(relation, data[relation.key]));
      if (nested.length === 0) continue;
      const related = { ...where, collectionId: relation.related.id };
      const found = await collections.related(related, relation.related.number);
      if (found !== undefined) relations.set(relation.key, await branchOf(related, found, nested, level + 1));
    }
    return { keys: null, relations };
  };
  const read = async (unit: Unit, collection: Collection, id: string, keys: readonly string[] | null) => {
    const row = await unit.one(store.one(collection, id, keys));
    if (row === undefined || Number(row.version) !== collection.version) throw new SchemaChanged();
    return row.data === null ? undefined : toDocument(collection, row);
  };
  return async (where, collection, data = {}) => {
    if (collection.relations.length === 0) return undefined;
    const branch = await branchOf(where, collection, [data]);
    if (branch.relations.size === 0) return undefined;
    const plan = await planOf(collections, where, collection, branch);
    const keys = printedKeys(collection, branch);
    return async (unit, changed) => {
      if (!isReadable(where, collection, changed.permissions)) return changed;
      // If a collection is related to itself, a nested change may have changed this document too.
      const plain = (await read(unit, collection, changed.id, null)) ?? changed;
      const part = keys === null ? plain : await read(unit, collection, changed.id, keys);
      const populated = async (bytes: ByteAllowance) => part && (await populate({ ...unit, bytes }, plan, [part]))[0];
      const look = await attemptWithin(answerMaxBytes, populated).catch(asTooLarge);
      // A change is not refused because its answer is too large.
      return { ...(look?.value ?? plain), etag: etagOf(printDocument(plain)) };
    };
  };
}

function asTooLarge(error: unknown): undefined {
  if (error instanceof Failure && error.type === 'general_query_limit_exceeded') return undefined;
  throw error;
}

/** Returns the objects in a value. PHP prints an empty object as an empty list. */
function objectsOf(relation: Relation, value: unknown): Data[] {
  const values = isToOne(relation) ? [value] : Array.isArray(value) ? value : [];
  return values.flatMap((one: unknown): Data[] => {
    if (typeof one !== 'object' || one === null) return [];
    return Array.isArray(one) ? (one.length === 0 ? [{}] : []) : [one as Data];
  });
}
