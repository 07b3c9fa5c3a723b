import { createBatcher } from '#src/platform/db/batch.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { untilOf } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../databases/index.js';
import { creationRecorder } from './changes/record.js';
import { maxRows, type RowWrites } from './changes/rows.js';
import type { StoredDocument } from './document.js';
import { conflict } from './errors.js';
import type { DocumentStore, NewDocument } from './store.js';

/** A document to create, and on whose behalf. */
export interface Creation {
  readonly by: AuditContext;
  readonly document: NewDocument;
  /** Characters of its texts. */
  readonly characters: number;
}

const maxTogether = 64;
/** A commit costs far more than a row: creates wait for those that arrive in the next turns of the event loop, which are short where nothing does. */
const ticksWaited = 8;
/** Characters of the texts of one run. */
const maxCharacters = 8_388_608;

/**
 * Creates documents of a collection, those of many requests in one statement and one commit: each has its audit row and its event as if it
 * were alone. One that the statement leaves out is tried alone and gets its own refusal. No two of a run have the same id, so the id of a row
 * that was written says whose it is.
 */
export function createCreation(
  { db }: Pick<Runtime, 'db'>,
  store: DocumentStore,
  rowWrites: RowWrites,
  collection: Collection,
): (creation: Creation) => Promise<StoredDocument> {
  const record = creationRecorder(collection);
  const create = (creations: readonly [Creation, ...Creation[]]): Promise<(StoredDocument | undefined)[]> =>
    db.work(creations[0].by, async (unit) => {
      const documents = creations.map(({ document }) => document);
      const written = await rowWrites.insert(unit, collection, documents);
      if (written.size === 0) throw await conflict(unit, store, collection, creations[0].document);
      return creations.map(({ by, document: { id } }) => {
        const document = written.get(id);
        if (document !== undefined) record(unit, document, by);
        return document;
      });
    });
  return createBatcher(async ([first, ...others]) => (first === undefined ? [] : create([first, ...others])), {
    max: Math.min(maxTogether, maxRows(collection)),
    atOnce: 1,
    ticks: ticksWaited,
    identity: ({ document }) => document.id,
    until: ({ by }) => untilOf(by),
    weight: ({ characters }) => characters,
    heaviest: maxCharacters,
  });
}
