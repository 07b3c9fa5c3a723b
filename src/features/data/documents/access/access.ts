import { hasScope } from '#src/contract/actor.js';
import type { Failure } from '#src/contract/errors.js';
import { allows, type PermissionAction, rolesOf, unpermitted } from '#src/contract/permissions.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from '../model/document.js';
import type { Visibility } from '../query/sources.js';
import { absent, requireCurrent } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';
import type { CollectionContext } from './collections.js';

/** A collection, and the caller that changes documents of it. */
export interface Place {
  readonly where: CollectionContext;
  readonly collection: Collection;
}

/** A document that a caller changes. */
export interface Target extends Place {
  readonly id: string;
}

/** True if the collection's own permissions allow the action on every document. */
export function collectionGrants(
  { actor }: CollectionContext,
  collection: Collection,
  action: PermissionAction,
): boolean {
  return actor.kind === 'key' || allows(collection.permissions, action, rolesOf(actor));
}

/** Error for a missing permission. Names the document if its own permissions count. */
export function unpermittedInCollection(
  where: CollectionContext,
  collection: Collection,
  action: PermissionAction,
  id?: string,
): Failure {
  const place = `databases/${collection.databaseId}/collections/${collection.id}`;
  return unpermitted(action, where.actor, place, collection.documentSecurity ? id : undefined);
}

/** True if the caller may read a document with these permissions. Server keys need the scope `documents.read`. */
export function isReadable(where: CollectionContext, collection: Collection, permissions: readonly string[]): boolean {
  if (where.actor.kind === 'key') return hasScope(where.actor, 'documents.read');
  return (
    collectionGrants(where, collection, 'read') ||
    (collection.documentSecurity && allows(permissions, 'read', rolesOf(where.actor)))
  );
}

/** A document as the caller may see it: the right to change a document does not include the right to read it. */
export function visiblePart(
  where: CollectionContext,
  collection: Collection,
  document: StoredDocument,
): StoredDocument {
  return isReadable(where, collection, document.permissions) ? document : { ...document, data: '' };
}

/** True if the collection, or the permissions in the row of a document, allow the action. */
export function rowGrants(
  where: CollectionContext,
  collection: Collection,
  row: Row,
  action: PermissionAction,
): boolean {
  return (
    collectionGrants(where, collection, action) ||
    (collection.documentSecurity && allows(JSON.parse(String(row.permissions)), action, rolesOf(where.actor)))
  );
}

/** Returns the documents of a list that the caller may see. Throws Failure `user_unauthorized` if none can be visible. */
export function visibilityOf(where: CollectionContext, collection: Collection): Visibility {
  if (collectionGrants(where, collection, 'read')) return 'everything';
  if (!collection.documentSecurity) throw unpermittedInCollection(where, collection, 'read');
  return rolesOf(where.actor);
}

/**
 * Throws unless permissions of the collection or of the document allow the change. Returns true in `mayRead` if the caller may also read
 * the document. A document that the caller may neither read, update nor delete gives the same error as an absent one, after the same
 * statements.
 */
export async function requireChangeableDocument(
  unit: Reader,
  store: DocumentStore,
  { where, collection, id }: Target,
  action: 'update' | 'delete',
  isLocked = true,
): Promise<{ readonly mayRead: boolean }> {
  const isGranted = (one: PermissionAction) => collectionGrants(where, collection, one);
  if (isGranted(action) && (isGranted('read') || !collection.documentSecurity)) return { mayRead: isGranted('read') };
  const row = await unit.one(store.permissions(collection, id, isLocked));
  if (row === undefined) throw await absent(unit, store, collection);
  const isAllowed = (one: PermissionAction) => rowGrants(where, collection, row, one);
  if (!(['read', 'update', 'delete'] as const).some(isAllowed)) throw await absent(unit, store, collection);
  requireCurrent(collection, row.version);
  if (!isAllowed(action)) throw unpermittedInCollection(where, collection, action, id);
  return { mayRead: isAllowed('read') };
}

/**
 * Throws unless the caller may update the document or, if it does not exist, create it. Both cases give the same error, so it does not
 * reveal if the document exists. Returns undefined if it does not exist.
 */
export async function requireWritable(
  unit: Unit,
  store: DocumentStore,
  { where, collection, id }: Target,
): Promise<{ readonly mayRead: boolean } | undefined> {
  const row = await unit.one(store.permissions(collection, id));
  if (row === undefined) {
    if (!collectionGrants(where, collection, 'create')) throw unpermittedInCollection(where, collection, 'create');
    return undefined;
  }
  requireCurrent(collection, row.version);
  if (!rowGrants(where, collection, row, 'update')) throw unpermittedInCollection(where, collection, 'update', id);
  return { mayRead: rowGrants(where, collection, row, 'read') };
}

/** A change that a duplicate request repeats. */
export interface RepeatedChange {
  readonly action: 'create' | 'upsert' | 'update' | 'delete';
  /** Absent for several documents, which only server keys change. */
  readonly id?: string | undefined;
  /** The change was staged in a transaction. */
  readonly isStaged: boolean;
}

/**
 * Throws unless the caller may still make a change that was made before, and returns whether it may read the document. If the document was
 * deleted, or is only staged, its own permissions are unknown: the permissions of the collection decide, or document security allows it.
 */
export async function requireRepeatable(
  reader: Reader,
  store: DocumentStore,
  where: CollectionContext,
  collection: Collection,
  { action, id = '', isStaged }: RepeatedChange,
): Promise<{ readonly mayRead: boolean }> {
  // A cached collection may still grant what another process has revoked.
  requireCurrent(collection, (await reader.one(store.version(collection)))?.version);
  const canCreate = collectionGrants(where, collection, 'create');
  if (action === 'create' && !canCreate) throw unpermittedInCollection(where, collection, 'create');
  // The answer contains only data from the request.
  if (action === 'create') return { mayRead: true };
  if (where.actor.kind === 'key') return { mayRead: isReadable(where, collection, []) };
  const row = await reader.one(store.permissions(collection, id, false));
  if (action === 'upsert' && canCreate)
    return { mayRead: isReadable(where, collection, row === undefined ? [] : JSON.parse(String(row.permissions))) };
  const change = action === 'delete' ? 'delete' : 'update';
  if (row === undefined && (isStaged || action === 'delete')) {
    if (!collection.documentSecurity && !collectionGrants(where, collection, change))
      throw unpermittedInCollection(where, collection, change);
    return { mayRead: collection.documentSecurity || collectionGrants(where, collection, 'read') };
  }
  return requireChangeableDocument(reader, store, { where, collection, id }, change, false);
}
