import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import {
  type Collection,
  type CollectionPath,
  type Index,
  indexableOf,
  indexOf,
  indexProblem,
  quoted,
} from '../model/schema.js';
import type { IndexDraft, IndexService } from '../model/service.js';
import { type CollectionRows, type PartDeps, recordOfPart, requireRoom, type SchemaDeps } from './collections.js';
import { indexStatement } from './index-statement.js';
import { documentTables, tablesOfIndexes } from './tables.js';

/** Creates the service of indexes over attributes and system fields. */
export function createIndexes(schema: SchemaDeps, rows: CollectionRows): IndexService {
  return bind({ ...schema, rows }, { createIndex, removeIndex });
}

async function createIndex(deps: PartDeps, unit: Unit, path: CollectionPath, draft: IndexDraft): Promise<Index> {
  const collection = await deps.rows.lock(unit, path);
  if (collection.indexes.some(({ key }) => key === draft.key))
    throw new Failure('index_already_exists', { message: `There is an index "${draft.key}" already.` });
  if (collection.indexes.length >= schemaLimits.indexes)
    throw new Failure('index_limit_exceeded', {
      message: `The index "${draft.key}" cannot be added: there are ${schemaLimits.indexes} already, the most that there may be.`,
    });
  requireIndexable(collection, draft);
  const number = collection.lastPart + 1;
  const isFulltext = draft.type === 'fulltext';
  if (isFulltext) requireFulltextRoom(collection, draft);
  const index: Index = {
    ...draft,
    number,
    ...(isFulltext ? { builtTo: 0 } : {}),
    createdAt: unit.now,
    updatedAt: unit.now,
  };
  const indexes = [...collection.indexes, index];
  requireRoom({ ...collection, indexes }, 'index_limit_exceeded');
  await build(deps, unit, collection, index);
  await deps.rows.change(unit, collection, { indexes, lastPart: number });
  unit.record('indexCreated', recordOfPart(collection, 'indexes', draft.key));
  return index;
}

/** Adds an index to the database. Throws Failure if stored values do not fit. */
async function build({ ddl, tables }: PartDeps, unit: Unit, collection: Collection, index: Index): Promise<void> {
  const statement = index.type === 'fulltext' ? undefined : indexStatement(ddl, collection, index);
  const { number } = collection;
  try {
    if (index.type === 'fulltext') {
      // Waits for all units that wrote documents without their words. The build then finds these documents.
      await tables.lockOne(unit, documentTables([number]), 'writersAndChanges');
      for (const statement of ddl.createWords(number, index.number)) await unit.run(statement);
    } else if (statement !== undefined) {
      await tables.lockOne(unit, documentTables([number]), 'writers');
      await unit.run(statement);
    }
  } catch (error) {
    if (!(error instanceof DatabaseError) || (error.kind !== 'unique' && error.kind !== 'tooLong')) throw error;
    throw new Failure('index_invalid', {
      message: `The index "${index.key}" cannot be made: stored values of ${quoted(index.attributes)} are ${error.kind === 'unique' ? 'equal, so they cannot be unique' : 'too long for an index'}.`,
    });
  }
}

async function removeIndex(deps: PartDeps, unit: Unit, path: CollectionPath, key: string): Promise<void> {
  const { rows, tables } = deps;
  const collection = await rows.lock(unit, path);
  const index = indexOf(collection, key);
  await tables.lockOne(unit, tablesOfIndexes(collection, [index]), 'everybody');
  await dropIndex(deps, unit, collection, index);
  await rows.change(unit, collection, { indexes: collection.indexes.filter((one) => one !== index) });
  unit.record('indexDeleted', recordOfPart(collection, 'indexes', key));
}

/** Removes an index from the database. Its tables must be locked. */
export async function dropIndex(
  { ddl, removal }: Pick<SchemaDeps, 'ddl' | 'removal'>,
  unit: Unit,
  collection: Collection,
  { type, number }: Index,
): Promise<void> {
  if (type === 'fulltext') await removal.drop(unit, ddl.dropWords(collection.number, number));
  else await unit.run(ddl.dropIndex(collection.number, number));
}

/** Throws if there are too many fulltext indexes or one over this attribute: each write splits the text once per fulltext index. */
function requireFulltextRoom({ indexes }: Collection, { key: name, attributes: [key] }: IndexDraft): void {
  const others = indexes.filter(({ type }) => type === 'fulltext');
  if (others.length >= schemaLimits.fulltextIndexes)
    throw new Failure('index_limit_exceeded', {
      message: `The index "${name}" cannot be added: there are at most ${schemaLimits.fulltextIndexes} fulltext indexes.`,
    });
  const other = others.find(({ attributes }) => key !== undefined && attributes.includes(key));
  if (other !== undefined)
    throw new Failure('index_invalid', { message: `"${key}" has a fulltext index already, "${other.key}".` });
}

function requireIndexable(collection: Collection, { key: name, attributes, type }: IndexDraft): void {
  const found = attributes.map((key) => {
    const attribute = indexableOf(collection, key);
    if (attribute === undefined)
      throw new Failure('attribute_unknown', {
        message: (terms) => `There is no ${terms.attribute} "${key}" to index.`,
      });
    return attribute;
  });
  const problem = indexProblem(found, type);
  if (problem !== undefined)
    throw new Failure('index_invalid', { message: `The index "${name}" is not valid: ${problem}` });
}
