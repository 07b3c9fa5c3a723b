import { allows, type PermissionAction, rolesOf } from '#src/contract/permissions.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Collection, Databases, Relation } from '../../databases/index.js';
import { grants } from '../access.js';
import type { Where } from '../collections.js';
import { SchemaChanged } from '../errors.js';
import type { DocumentStore } from '../store.js';

/** The other collection of a relationship, as the caller has it. */
export interface Related {
  readonly collection: Collection;
  readonly where: Where;
  /** Whether it exists for the caller: a disabled one is there for server keys only. */
  readonly isOpen: boolean;
}

/** Reads the other collection of a relationship, as it is in this unit or snapshot. */
export async function readRelated(
  databases: Databases,
  reader: Reader,
  where: Where,
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

/** Which of these documents are there and grant an action to the caller. */
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
    grants(where, collection, action) ||
    (collection.documentSecurity && allows(JSON.parse(String(permissions)), action, rolesOf(where.actor)));
  return new Set(rows.filter((row) => isGranted(row.permissions)).map((row) => String(row.id)));
}
