import { createBatcher } from '#src/platform/db/batch.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { untilOf } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from '../model/document.js';
import { conflict } from '../store/errors.js';
import type { DocumentStore, NewDocument } from '../store/store.js';
import { creationRecorder } from './record.js';
import { maxRows, type RowWrites } from './rows.js';

/** A document to create, and the author of the change. */
export interface Creation {
  readonly by: AuditContext;
  readonly document: NewDocument;
  /** Number of characters in its texts. */
  readonly characters: number;
}

const maxTogether = 64;
/** Turns of the event loop that creates wait for further ones, because a commit costs far more than a row. Idle turns are short. */
const ticksWaited = 8;
/** Most characters in the texts of one run. */
const maxCharacters = 8_388_608;

/**
 * Creates the function that creates documents of a collection. It combines many requests in one statement and one commit; each document has
 * its own audit row and event. A document that the statement leaves out is tried alone and gets its own error. No run contains an id twice,
 * so the id of a written row identifies its request.
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
