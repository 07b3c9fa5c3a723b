import type { Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import { createWordStore, type WordsOfRow } from '#src/platform/db/word-store.js';
import { type Attribute, type Collection, fulltextIndexes } from '../../databases/index.js';
import type { StoredDocument, StoredValues } from '../document.js';
import { mapConstraintErrors, wireNow } from '../errors.js';
import type { DocumentStore, InsertRow, NewDocument } from '../store.js';
import { joinedWords } from '../structure.js';
import type { DocumentChange } from './update-statement.js';

/** The one way to write rows of documents: fulltext indexes get their words in the same unit. A row that is deleted takes its words along. */
export interface RowWrites {
  /** Returns the documents that were written, by their ids: not those of which a unique value is taken, and none where the schema has changed. */
  insert(unit: Unit, collection: Collection, documents: readonly NewDocument[]): Promise<Map<string, StoredDocument>>;
  /** Returns each document that was changed, as `DocumentStore.updateRows`. */
  update(unit: Unit, collection: Collection, ids: readonly string[], change: DocumentChange): Promise<Row[]>;
}

/** What a statement may carry on both databases, with room to spare. */
const maxValues = 20_000;

/** How many new rows of a collection one statement may carry. */
export function maxRows({ attributes }: Collection): number {
  return Math.max(1, Math.floor(maxValues / (attributes.length + 10)));
}

/** Creates the writing of rows; what indexes refuse is thrown as a Failure. */
export function createRowWrites(sql: Sql, store: DocumentStore): RowWrites {
  const words = createWordStore(sql);
  /** Puts the words of each index that a change concerns. */
  const put = async (
    unit: Unit,
    collection: Collection,
    isChanged: (attribute: Attribute) => boolean,
    wordsIn: (attribute: Attribute) => readonly WordsOfRow[],
  ): Promise<void> => {
    for (const { index, attribute } of fulltextIndexes(collection)) {
      if (!isChanged(attribute)) continue;
      const rows = wordsIn(attribute);
      if (rows.length > 0) await unit.run(words.put(collection.number, index.number, rows));
    }
  };
  const joinedOf = (attribute: Attribute, values: StoredValues | undefined) =>
    values === undefined ? '' : joinedWords(attribute, values);
  /** Adds the documents that were written. */
  const insertSome = async (
    unit: Unit,
    collection: Collection,
    inserts: readonly InsertRow[],
    written: Map<string, StoredDocument>,
  ): Promise<void> => {
    const byId = new Map(inserts.map((insert) => [insert.document.id, insert]));
    const rows = (await unit.all(store.insertRows(collection, inserts))).map(({ id, seq }) => ({
      insert: byId.get(String(id)),
      sequence: String(seq),
    }));
    for (const { insert, sequence } of rows)
      if (insert !== undefined) written.set(insert.document.id, { ...insert.document, sequence });
    const wordsIn = (attribute: Attribute) =>
      rows.map(({ insert, sequence }) => ({ sequence, words: joinedOf(attribute, insert?.values) }));
    await put(unit, collection, () => true, wordsIn);
  };
  return {
    insert: (unit, collection, documents) =>
      mapConstraintErrors(collection, async () => {
        const now = wireNow(unit);
        const inserts = documents.map((document) => store.insertRow(collection, document, now));
        const written = new Map<string, StoredDocument>();
        const max = maxRows(collection);
        for (let at = 0; at < inserts.length; at += max)
          await insertSome(unit, collection, inserts.slice(at, at + max), written);
        return written;
      }),
    update: (unit, collection, ids, change) =>
      mapConstraintErrors(collection, async () => {
        const rows = await unit.all(store.updateRows(collection, ids, change));
        const wordsIn = (attribute: Attribute) =>
          rows.map(({ seq, data }) => ({
            sequence: String(seq),
            // A value that the database has computed stands in what it printed; a row too long for that is refused.
            words: joinedOf(
              attribute,
              change.computed.has(attribute.number) ? printedValue(attribute, data) : change.values,
            ),
          }));
        const isChanged = ({ number }: Attribute) => change.values.has(number) || change.computed.has(number);
        await put(unit, collection, isChanged, wordsIn);
        return rows;
      }, [...change.computed.keys()]),
  };
}

function printedValue({ key, number }: Attribute, data: unknown): StoredValues | undefined {
  return data === null ? undefined : new Map([[number, JSON.parse(`{${data}}`)[key]]]);
}
