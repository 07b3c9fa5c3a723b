import { createBatcher } from '#src/platform/db/batch.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { untilOf } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../databases/index.js';
import type { RowWrites } from './changes/rows.js';
import type { StoredDocument } from './document.js';
import { conflict, wireNow } from './errors.js';
import { printDocument } from './serializer.js';
import type { DocumentStore, NewDocument } from './store.js';
import { creationOf, documentResource } from './structure.js';

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
/** What a statement may carry on both databases, with room to spare. */
const maxValues = 20_000;

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
  const payload = creationOf(collection);
  const create = (creations: readonly [Creation, ...Creation[]]): Promise<(StoredDocument | undefined)[]> =>
    db.work(creations[0].by, async (unit) => {
      const now = wireNow(unit);
      const inserts = creations.map(({ document }) => store.insertRow(collection, document, now));
      const rows = await rowWrites.insert(unit, collection, inserts);
      if (rows.length === 0) throw await conflict(unit, store, collection, creations[0].document.id);
      const sequences = new Map(rows.map((row) => [String(row.id), String(row.seq)]));
      return creations.map(({ by, document: { id } }, at) => {
        const sequence = sequences.get(id);
        const inserted = inserts[at]?.document;
        if (sequence === undefined || inserted === undefined) return undefined;
        const document: StoredDocument = { ...inserted, sequence };
        const announce = printDocument(document).join('');
        unit.record('documentCreated', { by, resource: documentResource(collection, id), payload, announce });
        return document;
      });
    });
  return createBatcher(async ([first, ...others]) => (first === undefined ? [] : create([first, ...others])), {
    max: Math.min(maxTogether, Math.floor(maxValues / (collection.attributes.length + 10))),
    atOnce: 1,
    ticks: ticksWaited,
    identity: ({ document }) => document.id,
    until: ({ by }) => untilOf(by),
    weight: ({ characters }) => characters,
    heaviest: maxCharacters,
  });
}
