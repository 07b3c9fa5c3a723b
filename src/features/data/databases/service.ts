import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { DeleteRule, Relation, RelationType } from './relations/model.js';
import type { Attribute, Collection, CollectionPath, Index } from './schema.js';
import type { DatabaseRow } from './store.js';

/** What a caller says of a database. */
type DatabaseDraft = Pick<DatabaseRow, 'id' | 'name' | 'enabled'>;
type DatabaseChange = { readonly [K in 'name' | 'enabled']?: DatabaseDraft[K] | undefined };
/** What a caller says of a collection. */
type CollectionDraft = Pick<Collection, 'name' | 'enabled' | 'documentSecurity' | 'permissions'>;
type CollectionChange = { readonly [K in keyof CollectionDraft]?: CollectionDraft[K] | undefined };
/** What a caller says of an attribute. */
export type AttributeDraft = Omit<Attribute, 'number' | 'createdAt' | 'updatedAt'>;
/** A change of an attribute, which is of that type. */
type AttributeChange = Pick<Attribute, 'type'> & Partial<AttributeDraft>;
/** What a caller says of an index. */
export type IndexDraft = Omit<Index, 'number' | 'createdAt' | 'updatedAt'>;

/** What a caller says of a relationship. */
export interface RelationDraft {
  readonly key: string;
  readonly relatedCollectionId: string;
  readonly type: RelationType;
  readonly twoWay: boolean;
  readonly twoWayKey: string;
  readonly onDelete: DeleteRule;
}

/** A collection together with whether its database is enabled. */
interface FoundCollection {
  readonly collection: Collection;
  readonly databaseEnabled: boolean;
}

/** What a collection takes in the database; null where the database did not count it in time. */
export interface CollectionSize {
  readonly rows: number | null;
  /** The documents with their permissions and all indexes, on disk. */
  readonly bytes: number | null;
}

/** Databases: containers of collections. */
export interface DatabaseService {
  /** Throws Failure `database_not_found`. */
  getDatabase(reader: Reader, projectId: string, id: string): Promise<DatabaseRow>;
  /** Creates a database; the id may be `unique()`. Throws Failure `database_already_exists`. */
  createDatabase(unit: Unit, projectId: string, input: DatabaseDraft): Promise<DatabaseRow>;
  /** Changes what is given. Throws Failure `database_not_found`. */
  updateDatabase(unit: Unit, projectId: string, id: string, input: DatabaseChange): Promise<DatabaseRow>;
  /** Deletes a database with its collections and documents. Throws Failure `database_not_found`. */
  removeDatabase(unit: Unit, projectId: string, id: string): Promise<void>;
  /**
   * Deletes some of the collections of a project, or of one of its databases, and returns how many: a transaction of Postgres has locks for
   * so many tables only.
   */
  removeCollections(unit: Unit, projectId: string, databaseId?: string): Promise<number>;
}

/** Collections: tables of documents. */
export interface CollectionService {
  /** Finds a collection. */
  findCollection(reader: Reader, path: CollectionPath): Promise<FoundCollection | undefined>;
  /** Throws Failure `database_not_found` or `collection_not_found`, as all that follow. */
  getCollection(reader: Reader, path: CollectionPath): Promise<Collection>;
  /** Every collection of a project by database and id; undefined where their attributes are more than the description of an API holds. */
  describedCollections(reader: Reader, projectId: string): Promise<readonly Collection[] | undefined>;
  /** What the collection takes in the database. It reads all of it. */
  sizeOf(reader: Reader, path: CollectionPath): Promise<CollectionSize>;
  /** Creates a collection; the id may be `unique()`. Throws Failure `collection_already_exists`. */
  createCollection(unit: Unit, path: CollectionPath, input: CollectionDraft): Promise<Collection>;
  /** Changes what is given. */
  updateCollection(unit: Unit, path: CollectionPath, input: CollectionChange): Promise<Collection>;
  /** Deletes a collection with its documents. */
  removeCollection(unit: Unit, path: CollectionPath): Promise<void>;
}

/** Attributes: columns of documents. */
export interface AttributeService {
  /** Adds attributes, all or none. Throws Failure where a key is taken, the schema is full or a draft is not possible. */
  createAttributes(unit: Unit, path: CollectionPath, drafts: readonly AttributeDraft[]): Promise<readonly Attribute[]>;
  /** Changes what does not touch stored values: whether it is required, the default, the bounds, the name. Throws Failure. */
  updateAttribute(unit: Unit, path: CollectionPath, key: string, change: AttributeChange): Promise<Attribute>;
  /** Removes an attribute with its values. Throws Failure `attribute_not_found`, and `index_dependency` where an index uses it. */
  removeAttribute(unit: Unit, path: CollectionPath, key: string): Promise<void>;
}

/** Indexes over attributes. */
export interface IndexService {
  /** Adds an index. Throws Failure where the key is taken, the schema is full or the stored values do not fit. */
  createIndex(unit: Unit, path: CollectionPath, draft: IndexDraft): Promise<Index>;
  /** Removes an index. Throws Failure `index_not_found`. */
  removeIndex(unit: Unit, path: CollectionPath, key: string): Promise<void>;
}

/** Attributes that relate documents to those of another collection. */
export interface RelationService {
  /** Adds a relationship and returns the side of the collection. Throws Failure where a key is taken or a schema is full. */
  createRelation(unit: Unit, path: CollectionPath, draft: RelationDraft): Promise<Relation>;
  /** Changes the key of a side, and what the relationship does when a document is deleted. Throws Failure. */
  updateRelation(
    unit: Unit,
    path: CollectionPath,
    key: string,
    change: { readonly newKey?: string | undefined; readonly onDelete?: DeleteRule | undefined },
  ): Promise<Relation>;
}

/** The whole service. A change of the schema and the change of the table are one commit. */
export type Databases = DatabaseService & CollectionService & AttributeService & IndexService & RelationService;
