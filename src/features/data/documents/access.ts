import { hasScope } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { allows, type PermissionAction, rolesOf } from '#src/contract/permissions.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../databases/index.js';
import type { Where } from './collections.js';
import { absent, demandCurrent } from './errors.js';
import type { Visibility } from './query/sources.js';
import type { DocumentStore } from './store.js';

/** Whether the collection itself grants the action to the caller, for every document. */
export function grants({ actor }: Where, collection: Collection, action: PermissionAction): boolean {
  return actor.kind === 'key' || allows(collection.permissions, action, rolesOf(actor));
}

/** Whether the caller may read a document of these permissions; a server key needs the scope for it. */
export function isReadable(where: Where, collection: Collection, permissions: readonly string[]): boolean {
  if (where.actor.kind === 'key') return hasScope(where.actor, 'documents.read');
  return (
    grants(where, collection, 'read') ||
    (collection.documentSecurity && allows(permissions, 'read', rolesOf(where.actor)))
  );
}

/** Which documents of a list the caller may see. Throws Failure `user_unauthorized` where it can be none. */
export function visibilityOf(where: Where, collection: Collection): Visibility {
  if (grants(where, collection, 'read')) return 'everything';
  if (!collection.documentSecurity) throw new Failure('user_unauthorized');
  return rolesOf(where.actor);
}

/**
 * Throws unless the caller may change the document, by the collection or by the document itself, and tells whether it may read it. A document
 * that the caller may neither read nor change at all answers like none, after the same statements.
 */
export async function demandChangeable(
  unit: Unit,
  store: DocumentStore,
  where: Where,
  collection: Collection,
  id: string,
  action: 'update' | 'delete',
  isLocked = true,
): Promise<{ readonly mayRead: boolean }> {
  const isGranted = (one: PermissionAction) => grants(where, collection, one);
  if (isGranted(action) && (isGranted('read') || !collection.documentSecurity)) return { mayRead: isGranted('read') };
  const row = await unit.one(store.permissions(collection, id, isLocked));
  const isAllowed = (one: PermissionAction) =>
    isGranted(one) ||
    (collection.documentSecurity && allows(JSON.parse(String(row?.permissions)), one, rolesOf(where.actor)));
  if (row === undefined || !(['read', 'update', 'delete'] as const).some(isAllowed))
    throw await absent(unit, store, collection);
  demandCurrent(collection, row.version);
  if (!isAllowed(action)) throw new Failure('user_unauthorized');
  return { mayRead: isAllowed('read') };
}

/**
 * Throws unless the caller may change the document or, where there is none, create it: the same refusal for both, so that it does not tell which.
 * Returns undefined where there is none.
 */
export async function demandWritable(
  unit: Unit,
  store: DocumentStore,
  where: Where,
  collection: Collection,
  id: string,
  isLocked = true,
): Promise<{ readonly mayRead: boolean } | undefined> {
  const row = await unit.one(store.permissions(collection, id, isLocked));
  if (row === undefined) {
    if (!grants(where, collection, 'create')) throw new Failure('user_unauthorized');
    return undefined;
  }
  demandCurrent(collection, row.version);
  const isAllowed = (one: PermissionAction) =>
    grants(where, collection, one) ||
    (collection.documentSecurity && allows(JSON.parse(String(row.permissions)), one, rolesOf(where.actor)));
  if (!isAllowed('update')) throw new Failure('user_unauthorized');
  return { mayRead: isAllowed('read') };
}
