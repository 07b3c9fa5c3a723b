import type { PermissionAction } from '#src/contract/permissions.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Collection, Databases, Relation } from '../../databases/index.js';
import { rowGrants } from '../access/access.js';
import type { CollectionContext } from '../access/collections.js';
import { SchemaChanged } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';

/** The other collection of a relationship, as the caller sees it. */
export interface Related {
  readonly relation: Relation;
  readonly collection: Collection;
  readonly where: CollectionContext;
  /** True if it exists for the caller: disabled collections are visible to server keys only. */
  readonly isOpen: boolean;
}

/** Reads the other collection of a relationship within this unit or snapshot. Throws SchemaChanged if it was replaced or deleted. */
export async function readRelated(
  databases: Databases,
  reader: Reader,
  where: CollectionContext,
  relation: Relation,
): Promise<Related> {
  const { id, number } = relation.related;
  const found = await databases.findCollection(reader, {
    projectId: where.project.id,
    databaseId: where.databaseId,
    collectionId: id,
  });
  if (found?.collection.number !== number) throw new SchemaChanged();
  const { collection } = found;
  return {
    relation,
    collection,
    where: { ...where, collectionId: id },
    isOpen: collection.enabled || where.actor.kind === 'key',
  };
}

/** Finds the documents that exist and allow an action to the caller. */
export async function grantedOf(
  reader: Reader,
  store: DocumentStore,
  { collection, where, isOpen }: Related,
  ids: readonly string[],
  action: PermissionAction,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0 || !isOpen) return new Set();
  const rows = await reader.all(store.permissionsOf(collection, ids));
  return new Set(rows.filter((row) => rowGrants(where, collection, row, action)).map((row) => String(row.id)));
}

/** Reads a column `id`. */
export async function readIds(reader: Reader, query: Query): Promise<string[]> {
  return (await reader.all(query)).map(({ id }) => String(id));
}
