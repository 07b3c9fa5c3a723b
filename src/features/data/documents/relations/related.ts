import { allows, type PermissionAction, rolesOf } from '#src/contract/permissions.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Collection, Databases, Relation } from '../../databases/index.js';
import { collectionGrants } from '../access/access.js';
import type { CollectionContext } from '../access/collections.js';
import { SchemaChanged } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';

/** The other collection of a relationship, as the caller sees it. */
export interface Related {
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
  { related: { id, number } }: Relation,
): Promise<Related> {
  const found = await databases.findCollection(reader, {
    projectId: where.project.id,
    databaseId: where.databaseId,
    collectionId: id,
  });
  if (found?.collection.number !== number) throw new SchemaChanged();
  const { collection } = found;
  return {
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
  const isGranted = (permissions: unknown) =>
    collectionGrants(where, collection, action) ||
    (collection.documentSecurity && allows(JSON.parse(String(permissions)), action, rolesOf(where.actor)));
  return new Set(rows.filter((row) => isGranted(row.permissions)).map((row) => String(row.id)));
}

/** Reads a column `id`. */
export async function readIds(reader: Reader, query: Query): Promise<string[]> {
  return (await reader.all(query)).map(({ id }) => String(id));
}
