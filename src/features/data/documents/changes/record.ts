import type { ItemAudience } from '#src/contract/events.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from '../document.js';
import { printDocument } from '../serializer.js';
import { documentResource, keysOf } from '../structure.js';

/** What an event is about, and the collection of this moment: a later one may have the same id. */
function subjectOf(collection: Collection, { id }: StoredDocument): { resource: string; audience: ItemAudience } {
  return { resource: documentResource(collection, id), audience: collection.number };
}

/** Creates what leaves the event and the audit row of each new document of a collection; `by` where it is not the unit's own. */
export function creationRecorder(
  collection: Collection,
): (unit: Unit, document: StoredDocument, by?: AuditContext) => void {
  const payload = Object.freeze({ attributes: collection.attributes.map(({ key }) => key), permissions: true });
  return (unit, document, by) =>
    unit.record('documentCreated', {
      ...(by === undefined ? {} : { by }),
      ...subjectOf(collection, document),
      payload,
      announce: printDocument(document).join(''),
    });
}

/** Leaves the event and the audit row of an update. */
export function recordUpdate(
  unit: Unit,
  collection: Collection,
  document: StoredDocument,
  attributes: Iterable<number>,
  permissions: boolean,
): void {
  unit.record('documentUpdated', {
    ...subjectOf(collection, document),
    payload: { attributes: keysOf(collection, attributes), permissions },
    announce: printDocument(document).join(''),
  });
}

/** Leaves the event and the audit row of a deletion. */
export function recordDeletion(unit: Unit, collection: Collection, document: StoredDocument): void {
  unit.record('documentDeleted', {
    ...subjectOf(collection, document),
    payload: { attributes: [], permissions: false },
    announce: printDocument(document).join(''),
  });
}
