import { Failure } from '#src/contract/errors.js';
import { defaultPermissions, demandOwnRoles, expandPermissions } from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../databases/index.js';
import { demandChangeable, grants, isReadable } from './access.js';
import type { Collections, Where } from './collections.js';
import { type StoredDocument, withoutAttributes } from './document.js';
import { absent, demandCurrent, mapConstraintErrors, wireNow } from './errors.js';
import { toDocument } from './row.js';
import { printDocument } from './serializer.js';
import type { Documents } from './service.js';
import type { DocumentStore } from './store.js';
import { changedValues, charactersOf, documentResource, keysOf, newValues } from './structure.js';

/** Changes of documents. */
export function createWrites(
  { db, random, config }: Pick<Runtime, 'db' | 'random' | 'config'>,
  collections: Collections,
  store: DocumentStore,
): Pick<Documents, 'create' | 'update' | 'remove'> {
  const maxBytes = config.answerMaxBytes;
  /** What could not be answered whole is not kept. */
  const tooLong = () =>
    new Failure('document_invalid_structure', {
      message: `Invalid document structure: the document would have more than ${maxBytes} bytes.`,
    });
  /** A document as the caller may see it: the right to change it is none to read it. */
  const visiblePart = (where: Where, collection: Collection, document: StoredDocument): StoredDocument =>
    isReadable(where, collection, document.permissions) ? document : withoutAttributes(document);
  /** A document that an update left as it was. */
  const unchanged = async (unit: Unit, where: Where, collection: Collection, id: string): Promise<StoredDocument> => {
    const row = await unit.one(store.one(collection, id, null, maxBytes));
    if (row === undefined) throw await absent(unit, store, collection);
    demandCurrent(collection, row.version);
    if (row.data === null) throw new Failure('general_answer_too_large');
    return visiblePart(where, collection, toDocument(collection, row));
  };

  return {
    create: (where, by, id, { data = {}, permissions }) =>
      collections.use(where, async (collection, joined) => {
        if (!grants(where, collection, 'create')) throw new Failure('user_unauthorized');
        const granted =
          permissions === undefined ? defaultPermissions(where.actor) : expandPermissions(permissions, 'item');
        if (permissions !== undefined) demandOwnRoles(granted, where.actor);
        const values = newValues(collection, data);
        const characters = charactersOf(values);
        if (characters > maxBytes) throw tooLong();
        const newId = id === uniqueId ? random.id() : id;
        return joined.create({ by, document: { id: newId, permissions: granted, values }, characters });
      }),
    update: (where, by, id, { data, permissions }) =>
      collections.use(where, async (collection) => {
        if (data === undefined && permissions === undefined) throw new Failure('document_missing_payload');
        const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
        return db.work(by, async (unit) => {
          const { mayRead } = await demandChangeable(unit, store, where, collection, id, 'update');
          const values = changedValues(collection, data ?? {});
          if (granted !== undefined) demandOwnRoles(granted, where.actor);
          const change = { permissions: granted, values, now: wireNow(unit), always: !mayRead, maxBytes };
          const row = await mapConstraintErrors(() => unit.one(store.update(collection, id, change)));
          if (row === undefined) return unchanged(unit, where, collection, id);
          if (row.data === null) throw tooLong();
          const document = toDocument(collection, row);
          unit.record('documentUpdated', {
            resource: documentResource(collection, id),
            payload: { attributes: keysOf(collection, values.keys()), permissions: granted !== undefined },
            announce: printDocument(document).join(''),
          });
          return visiblePart(where, collection, document);
        });
      }),
    remove: (where, by, id) =>
      collections.use(where, (collection) =>
        db.work(by, async (unit) => {
          await demandChangeable(unit, store, where, collection, id, 'delete');
          const row = await unit.one(store.remove(collection, id, maxBytes));
          if (row === undefined) throw await absent(unit, store, collection);
          const document = toDocument(collection, row);
          unit.record('documentDeleted', {
            resource: documentResource(collection, id),
            payload: { attributes: [], permissions: false },
            announce: printDocument(document).join(''),
          });
          return visiblePart(where, collection, document);
        }),
      ),
  };
}
