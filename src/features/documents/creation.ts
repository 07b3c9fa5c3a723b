import { createJoin } from '#src/platform/db/batch.js';
import type { By } from '#src/platform/db/ledger.js';
import type { Platform } from '#src/platform/index.js';
import type { Collection } from '../databases/index.js';
import { wholeDocument } from './printer.js';
import { conflict, fitting, wireNow } from './refusals.js';
import type { DocumentStore, NewDocument } from './store.js';
import { creationOf, documentResource } from './structure.js';

/** A document to create, and on whose behalf. */
export interface Creation {
  readonly by: By;
  readonly document: NewDocument;
}

const mostTogether = 64;
/** A commit costs far more than a row: creates wait for those that arrive in the next turns of the event loop, which are short where nothing does. */
const turnsWaited = 8;
/** What a statement may carry on both databases, with room to spare. */
const mostValues = 20_000;

/**
 * Creates documents of a collection, those of many requests in one statement and one commit: each has its audit row and its event as if it
 * were alone. One that the statement leaves out is tried alone and gets its own refusal.
 */
export function createCreation(
  { db }: Pick<Platform, 'db'>,
  store: DocumentStore,
  collection: Collection,
): (creation: Creation) => Promise<string> {
  const payload = creationOf(collection);
  const create = (creations: readonly [Creation, ...Creation[]]): Promise<(string | undefined)[]> =>
    db.work(creations[0].by, async (unit) => {
      const now = wireNow(unit);
      const fresh = creations.map(({ document }) => store.fresh(collection, document, now));
      const rows = await fitting(() => unit.all(store.insert(collection, fresh, now)));
      if (rows.length === 0) throw await conflict(unit, store, collection, creations[0].document.id);
      const written = new Map(rows.map((row) => [String(row.id), String(row.seq)]));
      return creations.map(({ by, document: { id } }, at) => {
        const seq = written.get(id);
        const rest = fresh[at]?.rest;
        // Of two with the same id, one was written.
        if (seq === undefined || rest === undefined || !written.delete(id)) return undefined;
        const whole = wholeDocument(id, seq, rest);
        unit.record('documentCreated', { by, resource: documentResource(collection, id), payload, announce: whole });
        return whole;
      });
    });
  return createJoin(async ([first, ...others]) => (first === undefined ? [] : create([first, ...others])), {
    most: Math.min(mostTogether, Math.floor(mostValues / (collection.attributes.length + 10))),
    atOnce: 1,
    turns: turnsWaited,
  });
}
