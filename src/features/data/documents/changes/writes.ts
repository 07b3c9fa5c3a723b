import { Failure } from '#src/contract/errors.js';
import type { RawJson } from '#src/contract/raw-json.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../../installation/index.js';
import type { Collection } from '../../databases/index.js';
import { requireRepeatable } from '../access/access.js';
import type { CollectionContext, Collections } from '../access/collections.js';
import type { DocumentInput, Documents } from '../access/service.js';
import type { StoredDocument } from '../model/document.js';
import { charactersOf } from '../model/structure.js';
import { documentReply, pageReply, withoutAttributesReply } from '../model/view.js';
import { createNestedAnswers, type NestedAnswers } from '../relations/answers.js';
import type { DocumentStore } from '../store/store.js';
import { type BulkChanges, echoed } from './bulk.js';
import type { Changes } from './index.js';

interface Deps {
  readonly db: Pick<Runtime['db'], 'work'>;
  readonly idempotency: Idempotency;
  readonly nestedAnswer: NestedAnswers;
}

/** Changes of documents, each in a unit of work of its own, and the answers to their duplicates. Creates of one collection share a unit. */
export function createDocumentWrites(
  runtime: Pick<Runtime, 'db' | 'sql' | 'config'>,
  collections: Collections,
  { changes, bulk, store }: { readonly changes: Changes; readonly bulk: BulkChanges; readonly store: DocumentStore },
  idempotency: Idempotency,
): Omit<Documents, 'get' | 'list' | 'printedList'> {
  const deps: Deps = { db: runtime.db, idempotency, nestedAnswer: createNestedAnswers(runtime, collections, store) };
  return {
    create: (where, by, id, input) =>
      collections.use(where, async (collection, joined) => {
        const document = changes.prepare({ where, collection, id }, input);
        if (by.idempotent === undefined && document.relate === undefined) {
          const characters = charactersOf(document.values);
          where.budget.claim()(characters);
          return joined.create({ by, document, characters });
        }
        const insert = (unit: Unit) => changes.insert(unit, collection, document);
        return workAnswered(deps, where, collection, by, 201, input, insert);
      }),
    update: (where, by, id, input) =>
      collections.use(where, async (collection) => {
        if (input.data === undefined && input.permissions === undefined) throw new Failure('document_missing_payload');
        const update = (unit: Unit) => changes.update(unit, { where, collection, id }, input);
        return workAnswered(deps, where, collection, by, 200, input, update);
      }),
    upsert: (where, by, id, input) =>
      collections.use(where, (collection) => {
        const upsert = (unit: Unit) => changes.upsert(unit, { where, collection, id }, input);
        return workAnswered(deps, where, collection, by, 200, input, upsert);
      }),
    increment: (where, by, id, increment) =>
      collections.use(where, (collection) =>
        work(deps, where, collection, by, 200, (unit) => changes.increment(unit, { where, collection, id }, increment)),
      ),
    createAll: (where, by, given) =>
      collections.use(where, (collection) =>
        workAll(deps, where, collection, by, 201, (unit) => bulk.create(unit, { where, collection }, given)),
      ),
    upsertAll: (where, by, given) =>
      collections.use(where, (collection) =>
        workAll(deps, where, collection, by, 200, (unit) => bulk.upsert(unit, { where, collection }, given)),
      ),
    updateAll: (where, by, queries, input) =>
      collections.use(where, (collection) =>
        workAll(deps, where, collection, by, 200, (unit) => bulk.update(unit, { where, collection }, queries, input)),
      ),
    removeAll: (where, by, queries) =>
      collections.use(where, (collection) =>
        workAll(deps, where, collection, by, 200, (unit) => bulk.remove(unit, { where, collection }, queries)),
      ),
    remove: (where, by, id, precondition = {}) =>
      collections.use(where, (collection) =>
        work(deps, where, collection, by, 204, (unit) => changes.remove(unit, { where, collection, id }, precondition)),
      ),
    repeated: async (where, change, kept) => {
      const repeat = (collection: Collection) => requireRepeatable(runtime.db, store, where, collection, change);
      return shownAnswer(await collections.use(where, repeat), kept());
    },
  };
}

function shownAnswer({ mayRead }: { readonly mayRead: boolean }, answer: RawJson | undefined) {
  return mayRead || answer === undefined ? answer : withoutAttributesReply(answer);
}

/** Changes a document. The answer shows related documents that the data contains as objects. */
async function workAnswered(
  deps: Deps,
  where: CollectionContext,
  collection: Collection,
  by: AuditContext,
  status: 200 | 201,
  { data }: DocumentInput,
  change: (unit: Unit) => Promise<StoredDocument>,
) {
  return work(deps, where, collection, by, status, change, await deps.nestedAnswer(where, collection, data));
}

/** Changes a document, and keeps the answer for duplicates of the request. Rolls the change back if there is no memory for its answer. */
function work(
  { db, idempotency }: Deps,
  { budget }: CollectionContext,
  collection: Collection,
  by: AuditContext,
  status: 200 | 201 | 204,
  change: (unit: Unit) => Promise<StoredDocument>,
  answer?: Awaited<ReturnType<NestedAnswers>>,
) {
  const claim = budget.claim();
  return db.work(by, async (unit) => {
    const changed = await change(unit);
    const document = answer === undefined ? changed : await answer(unit, changed);
    if (status !== 204) claim(document.data.length);
    if (by.idempotent !== undefined)
      await idempotency.keep(
        unit,
        by.idempotent,
        status,
        status === 204 ? undefined : documentReply(document),
        mayShowSecrets(collection),
      );
    return document;
  });
}

/** Changes many documents like `work`. The answer shows some of them. */
function workAll(
  { db, idempotency }: Deps,
  { budget }: CollectionContext,
  collection: Collection,
  by: AuditContext,
  status: 200 | 201,
  change: (unit: Unit) => Promise<StoredDocument[]>,
) {
  const claim = budget.claim();
  return db.work(by, async (unit) => {
    const page = echoed(await change(unit));
    claim(page.documents.length);
    await idempotency.keep(unit, by.idempotent, status, pageReply(page), mayShowSecrets(collection));
    return page;
  });
}

/** True if responses to changes may contain values of encrypted attributes, of the documents or of related ones. */
function mayShowSecrets({ seal, relations }: Collection): boolean {
  return seal !== undefined || relations.length > 0;
}
