import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { type Attribute, type Collection, type Index, indexOf, indexProblem, quoted } from '../schema.js';
import type { IndexDraft, IndexService } from '../service.js';
import { type CollectionRows, demandRoom, recordOfPart, type SchemaDeps } from './collections.js';
import { documentTables, tablesOfIndex } from './tables.js';

/** Indexes over attributes of a collection. */
export function createIndexes({ ddl, tables }: SchemaDeps, { lock, change }: CollectionRows): IndexService {
  return {
    createIndex: async (unit, path, draft) => {
      const collection = await lock(unit, path);
      if (collection.indexes.some(({ key }) => key === draft.key))
        throw new Failure('index_already_exists', { message: `There is an index "${draft.key}" already.` });
      if (collection.indexes.length >= schemaLimits.indexes)
        throw new Failure('index_limit_exceeded', {
          message: `The index "${draft.key}" cannot be added: there are ${schemaLimits.indexes} already, the most that there may be.`,
        });
      const columns = indexedAttributes(collection, draft);
      const number = collection.lastPart + 1;
      const isFulltext = draft.type === 'fulltext';
      if (isFulltext) demandFulltextRoom(collection, draft);
      const index: Index = {
        ...draft,
        number,
        ...(isFulltext ? { builtTo: 0 } : {}),
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      const indexes = [...collection.indexes, index];
      demandRoom({ ...collection, indexes }, 'index_limit_exceeded');
      // An index over the text of a list would serve no query, and no index has room for long ones.
      const list = columns.flatMap(({ number: attribute, array }, position) =>
        array ? [] : [{ attribute, descending: draft.orders[position] === 'DESC' }],
      );
      try {
        if (isFulltext) {
          // Whoever wrote documents without their words has committed then, and the build finds them.
          await tables.lockOne(unit, documentTables([collection.number]), 'writersAndChanges');
          for (const statement of ddl.createWords(collection.number, number)) await unit.run(statement);
        } else if (list.length > 0) {
          await tables.lockOne(unit, documentTables([collection.number]), 'writers');
          await unit.run(ddl.createIndex(collection.number, number, list, draft.type === 'unique'));
        }
      } catch (error) {
        if (!(error instanceof DatabaseError) || (error.kind !== 'unique' && error.kind !== 'tooLong')) throw error;
        throw new Failure('index_invalid', {
          message: `The index "${draft.key}" cannot be made: stored values of ${quoted(draft.attributes)} are ${error.kind === 'unique' ? 'equal, so they cannot be unique' : 'too long for an index'}.`,
        });
      }
      await change(unit, collection, { indexes, lastPart: number });
      unit.record('indexCreated', recordOfPart(collection, 'indexes', draft.key));
      return index;
    },
    removeIndex: async (unit, path, key) => {
      const collection = await lock(unit, path);
      const index = indexOf(collection, key);
      const isFulltext = index.type === 'fulltext';
      await tables.lockOne(unit, tablesOfIndex(collection, index), 'everybody');
      const statements = isFulltext
        ? ddl.dropWords(collection.number, index.number)
        : [ddl.dropIndex(collection.number, index.number)];
      for (const statement of statements) await unit.run(statement);
      await change(unit, collection, { indexes: collection.indexes.filter((one) => one !== index) });
      unit.record('indexDeleted', recordOfPart(collection, 'indexes', key));
    },
  };
}

/** The text of an attribute is split once for each fulltext index over it, with every write. */
function demandFulltextRoom({ indexes }: Collection, { key: name, attributes: [key] }: IndexDraft): void {
  const others = indexes.filter(({ type }) => type === 'fulltext');
  if (others.length >= schemaLimits.fulltextIndexes)
    throw new Failure('index_limit_exceeded', {
      message: `The index "${name}" cannot be added: there are at most ${schemaLimits.fulltextIndexes} fulltext indexes.`,
    });
  const other = others.find(({ attributes }) => key !== undefined && attributes.includes(key));
  if (other !== undefined)
    throw new Failure('index_invalid', { message: `"${key}" has a fulltext index already, "${other.key}".` });
}

function indexedAttributes(collection: Collection, { key: name, attributes, type }: IndexDraft): Attribute[] {
  const found = attributes.map((key) => {
    const attribute = collection.attributes.find((one) => one.key === key);
    if (attribute === undefined)
      throw new Failure('attribute_unknown', { message: `There is no attribute "${key}" to index.` });
    return attribute;
  });
  const problem = indexProblem(found, type);
  if (problem !== undefined)
    throw new Failure('index_invalid', { message: `The index "${name}" is not valid: ${problem}` });
  return found;
}
