import { Failure } from '#src/contract/errors.js';
import type { Unit } from '#src/platform/db/unit.js';
import { etagOf, matchesEtag } from '#src/platform/etag.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from '../document.js';
import { absent, demandCurrent } from '../errors.js';
import { toDocument } from '../row.js';
import { printDocument } from '../serializer.js';
import type { Precondition } from '../service.js';
import type { DocumentStore } from '../store.js';

/** Reads a document that is about to change, and compares it with what the caller knows of it. */
export function createCurrent(store: DocumentStore, maxBytes: number) {
  const read = async (unit: Unit, collection: Collection, id: string): Promise<StoredDocument> => {
    const row = await unit.one(store.one(collection, id, null, maxBytes));
    if (row === undefined) throw await absent(unit, store, collection);
    demandCurrent(collection, row.version);
    if (row.data === null) throw new Failure('general_answer_too_large');
    return toDocument(collection, row);
  };
  /** Throws Failure unless the document has one of the entity tags, and locks it. Whoever may not read it can have none. */
  const demandMatch = async (
    unit: Unit,
    collection: Collection,
    id: string,
    { ifMatch }: Precondition,
    mayRead: boolean,
  ): Promise<void> => {
    if (ifMatch === undefined) return;
    await unit.one(store.permissions(collection, id));
    const document = await read(unit, collection, id);
    if (!matchesEtag(ifMatch, mayRead ? etagOf(printDocument(document)) : undefined))
      throw new Failure('general_precondition_failed');
  };
  return { read, demandMatch };
}
