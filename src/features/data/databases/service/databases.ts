import { Failure } from '#src/contract/errors.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { DatabaseService } from '../service.js';
import { databases } from '../store.js';
import type { SchemaDeps } from './collections.js';

/** Databases: containers of collections. */
export function createDatabases({ store, ddl, random }: SchemaDeps): DatabaseService {
  const dropAll = async (unit: Unit, rows: readonly Row[]): Promise<void> => {
    for (const { number } of rows) for (const statement of ddl.drop(Number(number))) await unit.run(statement);
  };
  const getDatabase: DatabaseService['getDatabase'] = async (reader, projectId, id) => {
    const row = await reader.one(store.find(projectId, id));
    if (row === undefined) throw new Failure('database_not_found');
    return databases.decode(row);
  };
  return {
    getDatabase,
    createDatabase: async (unit, projectId, input) => {
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
      await unit.one(store.lock(projectId, id));
      const { name } = await getDatabase(unit, projectId, id);
      await dropAll(unit, await unit.all(store.numbers(projectId, id)));
      await unit.run(store.remove(projectId, id));
      unit.record('databaseDeleted', { resource: `databases/${id}`, payload: { name } });
    },
    dropTables: async (unit, projectId) => dropAll(unit, await unit.all(store.numbers(projectId))),
  };
}
