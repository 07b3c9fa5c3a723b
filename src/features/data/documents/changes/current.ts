import { Failure } from '#src/contract/errors.js';
import type { Unit } from '#src/platform/db/unit.js';
import { etagOf, matchesEtag } from '#src/platform/text/etag.js';
import type { Collection } from '../../databases/index.js';
import { toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { absent, requireCurrent } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';

interface Deps {
  readonly store: DocumentStore;
}

/** Reads a document within a unit, regardless of permissions. */
export async function readCurrent({ store }: Deps, unit: Unit, collection: Collection, id: string) {
  const row = await unit.one(store.one(collection, id, null));
  if (row === undefined) throw await absent(unit, store, collection);
  requireCurrent(collection, row.version);
  if (row.data === null) throw new Failure('general_answer_too_large');
  return toDocument(collection, row);
}

/** Locks the document and throws Failure unless it has one of the entity tags. For a caller without read permission only `*` matches. */
export async function requireMatch(
  deps: Deps,
  unit: Unit,
  collection: Collection,
  id: string,
  ifMatch: string | undefined,
  mayRead: boolean,
): Promise<void> {
  if (ifMatch === undefined) return;
  await unit.one(deps.store.permissions(collection, id));
  const document = await readCurrent(deps, unit, collection, id);
  if (!matchesEtag(ifMatch, mayRead ? etagOf(printDocument(document)) : undefined))
    throw new Failure('general_precondition_failed');
}
