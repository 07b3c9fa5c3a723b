import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from '../document.js';
import { printDocument } from '../serializer.js';
import { documentResource, keysOf } from '../structure.js';

/** Creates what leaves the event and the audit row of each new document of a collection; `by` where it is not the unit's own. */
export function creationRecorder(
  collection: Collection,
): (unit: Unit, document: StoredDocument, by?: AuditContext) => void {
  const payload = Object.freeze({ attributes: collection.attributes.map(({ key }) => key), permissions: true });
  return (unit, document, by) =>
    unit.record('documentCreated', {
      ...(by === undefined ? {} : { by }),
      resource: documentResource(collection, document.id),
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
    resource: documentResource(collection, document.id),
    payload: { attributes: keysOf(collection, attributes), permissions },
    announce: printDocument(document).join(''),
  });
}

/** Leaves the event and the audit row of a deletion. */
export function recordDeletion(unit: Unit, collection: Collection, document: StoredDocument): void {
  unit.record('documentDeleted', {
    resource: documentResource(collection, document.id),
    payload: { attributes: [], permissions: false },
    announce: printDocument(document).join(''),
  });
}
