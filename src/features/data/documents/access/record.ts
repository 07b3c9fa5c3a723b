import type { ItemAudience } from '#src/contract/events.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from '../model/document.js';
import { printDocument } from '../model/serializer.js';
import { documentResource, keysOf } from '../model/structure.js';

/** Subject and payload of an event, and the number of its collection, because a later collection may have the same id. */
function subjectOf(collection: Collection, document: StoredDocument) {
  return {
    resource: documentResource(collection, document.id),
    audience: collection.number satisfies ItemAudience,
    announce: printDocument(document).join(''),
    ...(collection.seal && { seal: collection.seal.copy }),
  };
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
  });
}

/** Leaves the event and the audit row of a deletion. */
export function recordDeletion(unit: Unit, collection: Collection, document: StoredDocument): void {
  unit.record('documentDeleted', {
    ...subjectOf(collection, document),
    payload: { attributes: [], permissions: false },
  });
}
