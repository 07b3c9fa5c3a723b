import type { Project } from '#src/contract/project.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Runtime } from '#src/platform/index.js';
import {
  commonFields,
  type ListField,
  type ListQueries,
  type ListRequest,
  type Lists,
} from '#src/platform/list-query/index.js';
import type { Relation } from '../model/relation.js';
import { shownAttributes } from '../model/relation-sides.js';
import type { Attribute, Collection, Index } from '../model/schema.js';
import type { Databases } from '../model/service.js';
import { collections, createDatabaseStore, type DatabaseRow, databases } from '../model/store.js';
import { toAttribute, toIndex } from '../model/view.js';
import { type ItemFields, pageOfItems } from './items.js';

const common = {
  ...commonFields,
  name: { column: 'name', type: 'text' },
  enabled: { column: 'enabled', type: 'boolean' },
} as const satisfies Readonly<Record<string, ListField>>;
const collectionFields = {
  ...common,
  $permissions: { column: 'permissions', type: 'texts' },
  documentSecurity: { column: 'document_security', type: 'boolean' },
} as const satisfies Readonly<Record<string, ListField>>;
const search = ['name', 'id'];

const ofKey = {
  $id: { type: 'text' },
  $createdAt: { type: 'instant' },
  $updatedAt: { type: 'instant' },
  key: { type: 'text' },
  type: { type: 'text' },
  status: { type: 'text' },
  error: { type: 'text' },
} as const satisfies ItemFields;
const attributeFields: ItemFields = {
  ...ofKey,
  format: { type: 'text', nullable: true },
  required: { type: 'boolean' },
  array: { type: 'boolean' },
  size: { type: 'integer', nullable: true },
};
const indexFields: ItemFields = { ...ofKey, attributes: { type: 'texts' }, orders: { type: 'texts' } };

type InCollection = { readonly databaseId: string; readonly collectionId: string };

/** Lists of databases, collections, attributes and indexes. */
export interface Listing {
  databases(project: Project, request: ListRequest): Promise<{ total: number; databases: DatabaseRow[] }>;
  /** Throws Failure `database_not_found`. */
  collections(
    project: Project,
    databaseId: string,
    request: ListRequest,
  ): Promise<{ total: number; collections: Collection[] }>;
  /** Throws Failure `collection_not_found`. */
  attributes(
    project: Project,
    at: InCollection,
    request: ListQueries,
  ): Promise<{ total: number; items: (Attribute | Relation)[] }>;
  /** Throws Failure `collection_not_found`. */
  indexes(project: Project, at: InCollection, request: ListQueries): Promise<{ total: number; items: Index[] }>;
}

/** Creates the lists of databases, collections, attributes and indexes. `total` counts the matches of all pages. */
export function createListing({ db, sql }: Pick<Runtime, 'db' | 'sql'>, lists: Lists, service: Databases): Listing {
  const store = createDatabaseStore(sql);
  /** Values as in a response, except times, which are in stored form. */
  const valuesOf = (shown: object, { key, createdAt, updatedAt }: Attribute | Relation | Index) => ({
    ...shown,
    $id: key,
    $createdAt: createdAt,
    $updatedAt: updatedAt,
  });
  const found = (project: Project, { databaseId, collectionId }: InCollection) =>
    service.getCollection(db, { projectId: project.id, databaseId, collectionId });
  return {
    databases: async (project, request) => {
      const listing = { rows: store.rows(project.id), select: databases.row, fields: common, search };
      const { total, rows } = await lists.read(db, listing, request);
      return { total, databases: rows.map((row) => databases.decode(row)) };
    },
    collections: (project, databaseId, request) =>
      readAnswer(db, request, async (snapshot) => {
        await service.getDatabase(snapshot, project.id, databaseId);
        const rows = store.collectionRows(project.id, databaseId);
        const listing = { rows, select: collections.row, fields: collectionFields, search };
        const { total, rows: found } = await lists.page(snapshot, listing, request);
        return { total, collections: found.map((row) => collections.decode(row)) };
      }),
    attributes: async (project, at, request) => {
      const items = shownAttributes(await found(project, at));
      const list = {
        items,
        fields: attributeFields,
        valuesOf: (one: Attribute | Relation) => valuesOf(toAttribute(one), one),
      };
      return db.snapshot((snapshot) => pageOfItems({ sql, lists }, snapshot, list, request));
    },
    indexes: async (project, at, request) => {
      const { indexes: items } = await found(project, at);
      const list = { items, fields: indexFields, valuesOf: (one: Index) => valuesOf(toIndex(one), one) };
      return db.snapshot((snapshot) => pageOfItems({ sql, lists }, snapshot, list, request));
    },
  };
}
