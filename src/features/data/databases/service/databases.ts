import { Failure, invalidParam } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { DatabaseService } from '../model/service.js';
import { collections, databases } from '../model/store.js';
import { numbersWithRelated, removeWithTables, type SchemaDeps } from './collections.js';
import { tablesOf } from './tables.js';

/** Creates the service of databases, which are containers of collections. */
export function createDatabases(deps: SchemaDeps): DatabaseService {
  const { store, random, tables } = deps;
  const removeCollections: DatabaseService['removeCollections'] = async (unit, projectId, databaseId) => {
    const rows = await unit.all(store.some(projectId, databaseId, schemaLimits.droppedAtOnce));
    if (rows.length === 0) return 0;
    const found = rows.map((row) => collections.decode(row));
    await unit.all(store.hold(numbersWithRelated(found)));
    await tables.lock(unit, found, tablesOf(found));
    for (const collection of found) await removeWithTables(deps, unit, collection, found);
    return found.length;
  };
  const getDatabase: DatabaseService['getDatabase'] = async (reader, projectId, id) => {
    const row = await reader.one(store.find(projectId, id));
    if (row === undefined) throw new Failure('database_not_found');
    return databases.decode(row);
  };
  return {
    getDatabase,
    createDatabase: async (unit, projectId, input) => {
      await unit.one(store.holdNumbers());
      const { count } = (await unit.one(store.countDatabases(projectId))) ?? {};
      if (Number(count) >= schemaLimits.databases) throw new Failure('database_limit_exceeded');
      // Its routes would collide with those of transactions.
      if (input.id === 'transactions') throw invalidParam('databaseId', 'must not be transactions');
      const id = input.id === uniqueId ? random.id() : input.id;
      const row = { projectId, id, name: input.name, enabled: input.enabled, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insert(row))) === undefined) throw new Failure('database_already_exists');
      unit.record('databaseCreated', { resource: `databases/${id}`, payload: { name: row.name } });
      return row;
    },
    updateDatabase: async (unit, projectId, id, input) => {
      const database = await getDatabase(unit, projectId, id);
      const changed = {
        name: input.name ?? database.name,
        enabled: input.enabled ?? database.enabled,
        updatedAt: unit.now,
      };
      await unit.run(store.update(projectId, id, changed));
      await unit.run(store.touchCollections(projectId, id));
      unit.record('databaseUpdated', { resource: `databases/${id}`, payload: { name: changed.name } });
      return { ...database, ...changed };
    },
    removeDatabase: async (unit, projectId, id) => {
      if ((await unit.one(store.lock(projectId, id))) === undefined) throw new Failure('database_not_found');
      const { name } = await getDatabase(unit, projectId, id);
      while ((await removeCollections(unit, projectId, id)) > 0);
      await unit.run(store.remove(projectId, id));
      unit.record('databaseDeleted', { resource: `databases/${id}`, payload: { name } });
    },
    removeCollections,
  };
}
