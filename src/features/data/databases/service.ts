import { type ErrorType, Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import { type CollectionDdl, createCollectionDdl } from '#src/platform/db/collection-ddl.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type Attribute, type Collection, columnKind, type Index } from './schema.js';
import { collections, createDatabaseStore, type DatabaseRow, databases } from './store.js';
import { InvalidValue, toStored } from './values.js';

/** A collection together with whether its database is switched on. */
interface FoundCollection {
  readonly collection: Collection;
  readonly databaseEnabled: boolean;
}

/** What a caller says of a new attribute. */
export type AttributeDraft = Omit<Attribute, 'number' | 'createdAt' | 'updatedAt'>;
/** What a caller says of a new index. */
type IndexDraft = Omit<Index, 'number' | 'createdAt' | 'updatedAt'>;

/** Databases, collections and their schema. A change of the schema and the change of the table are one commit. */
export function createDatabases({ sql, random }: Pick<Runtime, 'sql' | 'random'>) {
  const store = createDatabaseStore(sql);
  const ddl: CollectionDdl = createCollectionDdl(sql.dialect);
  const at = ({ databaseId, id }: Pick<Collection, 'databaseId' | 'id'>) => `databases/${databaseId}/collections/${id}`;

  const getDatabase = async (reader: Reader, projectId: string, id: string): Promise<DatabaseRow> => {
    const row = await reader.one(store.find(projectId, id));
    if (row === undefined) throw new Failure('database_not_found');
    return databases.decode(row);
  };
  const findCollection = async (
    reader: Reader,
    projectId: string,
    databaseId: string,
    id: string,
  ): Promise<FoundCollection | undefined> => {
    const row = await reader.one(store.findCollection({ projectId, databaseId, id }));
    if (row === undefined) return undefined;
    return { collection: collections.decode(row), databaseEnabled: Number(row.databaseEnabled) === 1 };
  };
  const getCollection = async (
    reader: Reader,
    projectId: string,
    databaseId: string,
    id: string,
  ): Promise<Collection> => {
    const found = await findCollection(reader, projectId, databaseId, id);
    if (found !== undefined) return found.collection;
    await getDatabase(reader, projectId, databaseId);
    throw new Failure('collection_not_found');
  };
  /** Reads a collection for a change; others that change it wait. */
  const lock = async (unit: Unit, projectId: string, databaseId: string, id: string): Promise<Collection> => {
    await unit.all(store.lockCollection(projectId, databaseId, id));
    return getCollection(unit, projectId, databaseId, id);
  };
  const dropAll = async (unit: Unit, rows: readonly Row[]): Promise<void> => {
    for (const { number } of rows) for (const statement of ddl.drop(Number(number))) await unit.run(statement);
  };
  const change = async (unit: Unit, collection: Collection, changed: Partial<Collection>): Promise<Collection> => {
    const all = { ...changed, updatedAt: unit.now };
    await unit.run(store.updateCollection(collection.number, all));
    return { ...collection, ...all };
  };
  const attributeOf = (collection: Collection, key: string): Attribute => {
    const found = collection.attributes.find((attribute) => attribute.key === key);
    if (found === undefined) throw new Failure('attribute_not_found');
    return found;
  };

  return {
    getDatabase,
    createDatabase: async (
      unit: Unit,
      projectId: string,
      given: { id: string; name: string; enabled: boolean },
    ): Promise<DatabaseRow> => {
      const id = given.id === uniqueId ? random.id() : given.id;
      const row = { projectId, id, name: given.name, enabled: given.enabled, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insert(row))) === undefined) throw new Failure('database_already_exists');
      unit.record('databaseCreated', { resource: `databases/${id}`, payload: { name: row.name } });
      return row;
    },
    updateDatabase: async (
      unit: Unit,
      projectId: string,
      id: string,
      given: { name?: string | undefined; enabled?: boolean | undefined },
    ): Promise<DatabaseRow> => {
      const database = await getDatabase(unit, projectId, id);
      const changed = {
        name: given.name ?? database.name,
        enabled: given.enabled ?? database.enabled,
        updatedAt: unit.now,
      };
      await unit.run(store.update(projectId, id, changed));
      await unit.run(store.touchCollections(projectId, id));
      unit.record('databaseUpdated', { resource: `databases/${id}`, payload: { name: changed.name } });
      return { ...database, ...changed };
    },
    removeDatabase: async (unit: Unit, projectId: string, id: string): Promise<void> => {
      const { name } = await getDatabase(unit, projectId, id);
      await dropAll(unit, await unit.all(store.numbers(projectId, id)));
      await unit.run(store.remove(projectId, id));
      unit.record('databaseDeleted', { resource: `databases/${id}`, payload: { name } });
    },
    /** Drops the tables of a project that is about to go. */
    dropTables: async (unit: Unit, projectId: string): Promise<void> => {
      await dropAll(unit, await unit.all(store.numbers(projectId)));
    },

    findCollection,
    getCollection,
    createCollection: async (
      unit: Unit,
      projectId: string,
      databaseId: string,
      given: Pick<Collection, 'id' | 'name' | 'enabled' | 'documentSecurity' | 'permissions'>,
    ): Promise<Collection> => {
      await getDatabase(unit, projectId, databaseId);
      const number = Number((await unit.one(store.nextNumber()))?.last);
      const collection: Collection = {
        ...given,
        id: given.id === uniqueId ? random.id() : given.id,
        projectId,
        databaseId,
        number,
        version: 1,
        permissions: expandPermissions(given.permissions, 'container'),
        attributes: [],
        indexes: [],
        lastPart: 0,
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      if ((await unit.one(store.insertCollection(collection))) === undefined)
        throw new Failure('collection_already_exists');
      for (const statement of ddl.create(number)) await unit.run(statement);
      unit.record('collectionCreated', { resource: at(collection), payload: { name: given.name } });
      return collection;
    },
    updateCollection: async (
      unit: Unit,
      projectId: string,
      databaseId: string,
      id: string,
      given: {
        name?: string | undefined;
        enabled?: boolean | undefined;
        documentSecurity?: boolean | undefined;
        permissions?: readonly string[] | undefined;
      },
    ): Promise<Collection> => {
      const collection = await lock(unit, projectId, databaseId, id);
      const changed = await change(unit, collection, {
        name: given.name ?? collection.name,
        enabled: given.enabled ?? collection.enabled,
        documentSecurity: given.documentSecurity ?? collection.documentSecurity,
        permissions:
          given.permissions === undefined ? collection.permissions : expandPermissions(given.permissions, 'container'),
      });
      unit.record('collectionUpdated', { resource: at(collection), payload: { name: changed.name } });
      return changed;
    },
    removeCollection: async (unit: Unit, projectId: string, databaseId: string, id: string): Promise<void> => {
      const collection = await lock(unit, projectId, databaseId, id);
      for (const statement of ddl.drop(collection.number)) await unit.run(statement);
      await unit.run(store.removeCollection(collection.number));
      unit.record('collectionDeleted', { resource: at(collection), payload: { name: collection.name } });
    },

    attributeOf,
    createAttribute: async (
      unit: Unit,
      projectId: string,
      databaseId: string,
      id: string,
      draft: AttributeDraft,
    ): Promise<Attribute> => {
      const collection = await lock(unit, projectId, databaseId, id);
      if (collection.attributes.some(({ key }) => key === draft.key)) throw new Failure('attribute_already_exists');
      if (collection.attributes.length >= schemaLimits.attributes) throw new Failure('attribute_limit_exceeded');
      const number = collection.lastPart + 1;
      const attribute = withDefault({ ...draft, number, createdAt: unit.now, updatedAt: unit.now });
      const attributes = [...collection.attributes, attribute];
      demandRoom({ ...collection, attributes }, 'attribute_limit_exceeded');
      try {
        await unit.run(ddl.addColumn(collection.number, number, columnKind(attribute)));
      } catch (error) {
        if (error instanceof DatabaseError && error.kind === 'tooManyColumns')
          throw new Failure('attribute_limit_exceeded');
        throw error;
      }
      await change(unit, collection, { attributes, lastPart: number });
      unit.record('attributeCreated', {
        resource: `${at(collection)}/attributes/${draft.key}`,
        payload: { key: draft.key },
      });
      return attribute;
    },
    /** Changes what does not touch stored values: whether it is required, the default, the bounds, the name. */
    updateAttribute: async (
      unit: Unit,
      projectId: string,
      databaseId: string,
      id: string,
      key: string,
      given: { readonly type: Attribute['type']; readonly change: Partial<AttributeDraft> },
    ): Promise<Attribute> => {
      const collection = await lock(unit, projectId, databaseId, id);
      const before = attributeOf(collection, key);
      if (before.type !== given.type) throw new Failure('attribute_type_invalid');
      const after = withDefault({ ...before, ...given.change, updatedAt: unit.now });
      if (after.key !== key && collection.attributes.some((other) => other.key === after.key))
        throw new Failure('attribute_already_exists');
      const attributes = collection.attributes.map((one) => (one.number === before.number ? after : one));
      demandRoom({ ...collection, attributes }, 'attribute_limit_exceeded');
      await change(unit, collection, {
        attributes,
        indexes: collection.indexes.map((index) => ({
          ...index,
          attributes: index.attributes.map((name) => (name === key ? after.key : name)),
        })),
      });
      unit.record('attributeUpdated', {
        resource: `${at(collection)}/attributes/${after.key}`,
        payload: { key: after.key },
      });
      return after;
    },
    removeAttribute: async (
      unit: Unit,
      projectId: string,
      databaseId: string,
      id: string,
      key: string,
    ): Promise<void> => {
      const collection = await lock(unit, projectId, databaseId, id);
      const attribute = attributeOf(collection, key);
      if (collection.indexes.some(({ attributes }) => attributes.includes(key))) throw new Failure('index_dependency');
      await unit.run(ddl.dropColumn(collection.number, attribute.number));
      await change(unit, collection, {
        attributes: collection.attributes.filter(({ number }) => number !== attribute.number),
      });
      unit.record('attributeDeleted', { resource: `${at(collection)}/attributes/${key}`, payload: { key } });
    },

    createIndex: async (
      unit: Unit,
      projectId: string,
      databaseId: string,
      id: string,
      draft: IndexDraft,
    ): Promise<Index> => {
      const collection = await lock(unit, projectId, databaseId, id);
      if (collection.indexes.some(({ key }) => key === draft.key)) throw new Failure('index_already_exists');
      if (collection.indexes.length >= schemaLimits.indexes) throw new Failure('index_limit_exceeded');
      const columns = indexedAttributes(collection, draft);
      const number = collection.lastPart + 1;
      const index: Index = { ...draft, number, createdAt: unit.now, updatedAt: unit.now };
      const indexes = [...collection.indexes, index];
      demandRoom({ ...collection, indexes }, 'index_limit_exceeded');
      // An index over the text of a list would serve no query, and no index has room for long ones.
      const list = columns.flatMap(({ number: attribute, array }, position) =>
        array ? [] : [{ attribute, descending: draft.orders[position] === 'DESC' }],
      );
      try {
        if (list.length > 0) await unit.run(ddl.createIndex(collection.number, number, list, draft.type === 'unique'));
      } catch (error) {
        if (!(error instanceof DatabaseError) || (error.kind !== 'unique' && error.kind !== 'tooLong')) throw error;
        throw new Failure('index_invalid', {
          message:
            error.kind === 'unique'
              ? 'Documents have equal values in these attributes, so they cannot be unique.'
              : 'Documents have values in these attributes that are too long for an index.',
        });
      }
      await change(unit, collection, { indexes, lastPart: number });
      unit.record('indexCreated', { resource: `${at(collection)}/indexes/${draft.key}`, payload: { key: draft.key } });
      return index;
    },
    indexOf: (collection: Collection, key: string): Index => {
      const found = collection.indexes.find((index) => index.key === key);
      if (found === undefined) throw new Failure('index_not_found');
      return found;
    },
    removeIndex: async (unit: Unit, projectId: string, databaseId: string, id: string, key: string): Promise<void> => {
      const collection = await lock(unit, projectId, databaseId, id);
      const index = collection.indexes.find((one) => one.key === key);
      if (index === undefined) throw new Failure('index_not_found');
      await unit.run(ddl.dropIndex(collection.number, index.number));
      await change(unit, collection, { indexes: collection.indexes.filter(({ number }) => number !== index.number) });
      unit.record('indexDeleted', { resource: `${at(collection)}/indexes/${key}`, payload: { key } });
    },
  };
}

/** The databases service. */
export type Databases = ReturnType<typeof createDatabases>;

/** Throws Failure where the schema has become larger than what every request to the collection can bear to read. */
function demandRoom({ attributes, indexes }: Pick<Collection, 'attributes' | 'indexes'>, type: ErrorType): void {
  if (Buffer.byteLength(JSON.stringify([attributes, indexes])) <= schemaLimits.bytes) return;
  throw new Failure(type, {
    message: `The attributes and indexes of a collection, with defaults and elements, have at most ${schemaLimits.bytes} bytes together.`,
  });
}

/** Throws Failure where the default is not possible; otherwise the attribute with the default in its stored form. */
function withDefault(attribute: Attribute): Attribute {
  const { type, min, max } = attribute;
  const bound = (text: string) => (type === 'integer' ? BigInt(text) : Number(text));
  if (min !== undefined && max !== undefined && bound(min) > bound(max)) {
    throw new Failure('attribute_value_invalid', { message: 'The smallest value is larger than the largest.' });
  }
  for (const text of type === 'integer' ? [min, max] : []) {
    if (text !== undefined && BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
      throw new Failure('attribute_value_invalid', { message: 'A whole number has at most 64 bits.' });
  }
  if (attribute.default === null) return attribute;
  if (attribute.required || attribute.array) throw new Failure('attribute_default_unsupported');
  const stored = toStored(attribute, attribute.default);
  if (stored instanceof InvalidValue)
    throw new Failure('attribute_value_invalid', { message: `The default ${stored.reason}.` });
  // Kept as JSON in the collection's row, where a number of 64 bits would not be exact.
  return { ...attribute, default: typeof stored === 'bigint' ? String(stored) : stored };
}

function indexedAttributes(collection: Collection, { attributes, type }: IndexDraft): Attribute[] {
  const found = attributes.map((key) => {
    const attribute = collection.attributes.find((one) => one.key === key);
    if (attribute === undefined)
      throw new Failure('attribute_unknown', { message: `The collection has no attribute ${key}.` });
    return attribute;
  });
  const characters = found.reduce((sum, { size = 0, array }) => sum + (array ? 0 : size), 0);
  const problem =
    found.length === 0 || found.length > schemaLimits.indexedAttributes
      ? `An index has 1 to ${schemaLimits.indexedAttributes} attributes.`
      : new Set(attributes).size < attributes.length
        ? 'An attribute stands twice in the index.'
        : characters > schemaLimits.indexedCharacters
          ? `The attributes of an index may have ${schemaLimits.indexedCharacters} characters together.`
          : type === 'unique' && found.some(({ array }) => array)
            ? 'An array cannot be unique.'
            : undefined;
  if (problem !== undefined) throw new Failure('index_invalid', { message: problem });
  return found;
}
