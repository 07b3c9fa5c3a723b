import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { DeleteRule, Relation, RelationType } from './relation.js';
import type { Attribute, Collection, CollectionPath, Index } from './schema.js';
import type { DatabaseRow } from './store.js';

/** Caller-provided data of a database. */
type DatabaseDraft = Pick<DatabaseRow, 'id' | 'name' | 'enabled'>;
type DatabaseChange = { readonly [K in 'name' | 'enabled']?: DatabaseDraft[K] | undefined };
/** Caller-provided data of a collection. */
export type CollectionDraft = Pick<Collection, 'name' | 'enabled' | 'documentSecurity' | 'permissions'>;
export type CollectionChange = { readonly [K in keyof CollectionDraft]?: CollectionDraft[K] | undefined };
/** Caller-provided data of an attribute. */
export type AttributeDraft = Omit<Attribute, 'number' | 'createdAt' | 'updatedAt'>;
/** A change of an attribute. The type must be its current one. */
export type AttributeChange = Pick<Attribute, 'type'> & Partial<AttributeDraft>;
/** Caller-provided data of an index. */
export type IndexDraft = Omit<Index, 'number' | 'createdAt' | 'updatedAt'>;

/** Caller-provided data of a relationship. */
export interface RelationDraft {
  readonly key: string;
  readonly relatedCollectionId: string;
  readonly type: RelationType;
  readonly twoWay: boolean;
  readonly twoWayKey: string;
  readonly onDelete: DeleteRule;
}

/** Members of a relationship to change. */
export interface RelationChange {
  readonly newKey?: string | undefined;
  readonly onDelete?: DeleteRule | undefined;
}

/** A collection, and true in `databaseEnabled` if its database is enabled. */
interface FoundCollection {
  readonly collection: Collection;
  readonly databaseEnabled: boolean;
}

/** Size of a collection; null if the database did not count it in time. */
export interface CollectionSize {
  readonly rows: number | null;
  /** Bytes on disk of the documents, their permissions and all indexes. */
  readonly bytes: number | null;
}

/** Databases: containers of collections. */
export interface DatabaseService {
  /** Throws Failure `database_not_found`. */
  getDatabase(reader: Reader, projectId: string, id: string): Promise<DatabaseRow>;
  /** Creates a database; the id may be `unique()`. Throws Failure `database_already_exists`. */
  createDatabase(unit: Unit, projectId: string, input: DatabaseDraft): Promise<DatabaseRow>;
  /** Changes the given members. Throws Failure `database_not_found`. */
  updateDatabase(unit: Unit, projectId: string, id: string, input: DatabaseChange): Promise<DatabaseRow>;
  /** Deletes a database with its collections and documents. Throws Failure `database_not_found`. */
  removeDatabase(unit: Unit, projectId: string, id: string): Promise<void>;
  /**
   * Deletes a batch of collections of a project or of one of its databases. Returns how many it deleted, 0 after the last. It works in
   * batches because the lock table of Postgres limits the tables per transaction.
   */
  removeCollections(unit: Unit, projectId: string, databaseId?: string): Promise<number>;
}

/** Collections: tables of documents. */
export interface CollectionService {
  /** Finds a collection; undefined if it or its database does not exist. */
  findCollection(reader: Reader, path: CollectionPath): Promise<FoundCollection | undefined>;
  /** Throws Failure `database_not_found` or `collection_not_found`, as do all methods below. */
  getCollection(reader: Reader, path: CollectionPath): Promise<Collection>;
  /**
   * Returns all collections of a project, ordered by database and id. Undefined if their attributes exceed the size that API descriptions
   * include.
   */
  describedCollections(reader: Reader, projectId: string): Promise<readonly Collection[] | undefined>;
  /** Measures the collection. Reads all of it. */
  sizeOf(reader: Reader, path: CollectionPath): Promise<CollectionSize>;
  /** Creates a collection; the id may be `unique()`. Throws Failure `collection_already_exists`. */
  createCollection(unit: Unit, path: CollectionPath, input: CollectionDraft): Promise<Collection>;
  /** Changes the given members. */
  updateCollection(unit: Unit, path: CollectionPath, input: CollectionChange): Promise<Collection>;
  /** Deletes a collection with its documents. */
  removeCollection(unit: Unit, path: CollectionPath): Promise<void>;
}

/** Attributes: columns of documents. */
export interface AttributeService {
  /** Adds all attributes or none. Throws Failure if a key is taken, the schema is full or a draft is invalid. */
  createAttributes(unit: Unit, path: CollectionPath, drafts: readonly AttributeDraft[]): Promise<readonly Attribute[]>;
  /** Changes members that do not affect stored values: `required`, the default, the bounds, the key. Throws Failure. */
  updateAttribute(unit: Unit, path: CollectionPath, key: string, change: AttributeChange): Promise<Attribute>;
  /** Removes an attribute, its values and the indexes over it. Throws Failure `attribute_not_found`. */
  removeAttribute(unit: Unit, path: CollectionPath, key: string): Promise<void>;
}

/** Indexes over attributes. */
export interface IndexService {
  /** Adds an index. Throws Failure if the key is taken, the schema is full or stored values do not fit. */
  createIndex(unit: Unit, path: CollectionPath, draft: IndexDraft): Promise<Index>;
  /** Removes an index. Throws Failure `index_not_found`. */
  removeIndex(unit: Unit, path: CollectionPath, key: string): Promise<void>;
}

/** Attributes that relate documents to those of another collection. */
export interface RelationService {
  /** Adds a relationship and returns the side of this collection. Throws Failure if a key is taken or a schema is full. */
  createRelation(unit: Unit, path: CollectionPath, draft: RelationDraft): Promise<Relation>;
  /** Changes the key of a side or the action on deletion. Throws Failure. */
  updateRelation(unit: Unit, path: CollectionPath, key: string, change: RelationChange): Promise<Relation>;
}

/** The service of databases and their schemas. It changes a schema and the table of the documents in one commit. */
export type Databases = DatabaseService & CollectionService & AttributeService & IndexService & RelationService;
