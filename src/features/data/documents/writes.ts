import { Failure } from '#src/contract/errors.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../installation/index.js';
import type { Collection } from '../databases/index.js';
import { isReadable } from './access.js';
import { type BulkChanges, echoed } from './changes/bulk.js';
import type { Changes } from './changes/index.js';
import type { AuditContext, Collections, Where } from './collections.js';
import { type StoredDocument, withoutAttributes } from './document.js';
import type { Documents } from './service.js';
import { charactersOf } from './structure.js';
import { documentReply, pageReply } from './view.js';

/** Changes of documents, each in a unit of work of its own; creates of one collection share one. */
export function createWrites(
  { db }: Pick<Runtime, 'db'>,
  collections: Collections,
  { changes, bulk }: { readonly changes: Changes; readonly bulk: BulkChanges },
  idempotency: Idempotency,
): Omit<Documents, 'get' | 'list' | 'printedList'> {
  /** Changes a document, and keeps the answer for duplicates of the request. A change whose answer finds no room is taken back. */
  const work = (
    { room }: Where,
    by: AuditContext,
    status: 200 | 201 | 204,
    change: (unit: Unit) => Promise<StoredDocument>,
  ) => {
    const claim = room.claim();
    return db.work(by, async (unit) => {
      const document = await change(unit);
      if (status !== 204) claim(document.data.length);
      if (by.idempotent !== undefined)
        await idempotency.keep(unit, by.idempotent, status, status === 204 ? undefined : documentReply(document));
      return document;
    });
  };
  /** The same with many documents, of which the answer shows some. */
  const workAll = (
    { room }: Where,
    by: AuditContext,
    status: 200 | 201,
    change: (unit: Unit) => Promise<StoredDocument[]>,
  ) => {
    const claim = room.claim();
    return db.work(by, async (unit) => {
      const page = echoed(await change(unit));
      claim(page.documents.length);
      await idempotency.keep(unit, by.idempotent, status, pageReply(page));
      return page;
    });
  };
  return {
    create: (where, by, id, input) =>
      collections.use(where, async (collection, joined) => {
        const document = changes.prepare(where, collection, id, input);
        if (by.idempotent === undefined && document.relate === undefined) {
          const characters = charactersOf(document.values);
          where.room.claim()(characters);
          return joined.create({ by, document, characters });
        }
        return work(where, by, 201, (unit) => changes.insert(unit, collection, document));
      }),
    update: (where, by, id, input) =>
      collections.use(where, async (collection) => {
        if (input.data === undefined && input.permissions === undefined) throw new Failure('document_missing_payload');
        return work(where, by, 200, (unit) => changes.update(unit, where, collection, id, input));
      }),
    upsert: (where, by, id, input) =>
      collections.use(where, (collection) =>
        work(where, by, 200, (unit) => changes.upsert(unit, where, collection, id, input)),
      ),
    increment: (where, by, id, increment) =>
      collections.use(where, (collection) =>
        work(where, by, 200, (unit) => changes.increment(unit, where, collection, id, increment)),
      ),
    createAll: (where, by, given) =>
      collections.use(where, (collection) =>
        workAll(where, by, 201, (unit) => bulk.create(unit, where, collection, given)),
      ),
    upsertAll: (where, by, given) =>
      collections.use(where, (collection) =>
        workAll(where, by, 200, (unit) => bulk.upsert(unit, where, collection, given)),
      ),
    updateAll: (where, by, queries, input) =>
      collections.use(where, (collection) =>
        workAll(where, by, 200, async (unit) =>
          visible(where, collection, await bulk.update(unit, where, collection, queries, input)),
        ),
      ),
    removeAll: (where, by, queries) =>
      collections.use(where, (collection) =>
        workAll(where, by, 200, async (unit) =>
          visible(where, collection, await bulk.remove(unit, collection, queries)),
        ),
      ),
    remove: (where, by, id, precondition = {}) =>
      collections.use(where, (collection) =>
        work(where, by, 204, (unit) => changes.remove(unit, where, collection, id, precondition)),
      ),
  };
}

/** Documents as the caller may see them: the right to change them is none to read them. */
function visible(where: Where, collection: Collection, documents: readonly StoredDocument[]): StoredDocument[] {
  return documents.map((one) => (isReadable(where, collection, one.permissions) ? one : withoutAttributes(one)));
}
