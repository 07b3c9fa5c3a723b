import type { Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import { createWordStore, type WordsOfRow } from '#src/platform/db/word-store.js';
import { type Attribute, type Collection, fulltextIndexes } from '../../databases/index.js';
import type { StoredValues } from '../document.js';
import { mapConstraintErrors } from '../errors.js';
import type { DocumentStore, InsertRow } from '../store.js';
import { joinedWords } from '../structure.js';
import type { DocumentChange } from './update-statement.js';

/** The one way to write rows of documents: fulltext indexes get their words in the same unit. A row that is deleted takes its words along. */
export interface RowWrites {
  /** Returns id and sequence of those that were written, as `DocumentStore.insertRows`. */
  insert(unit: Unit, collection: Collection, inserts: readonly InsertRow[]): Promise<Row[]>;
  /** Returns each document that was changed, as `DocumentStore.updateRows`. */
  update(unit: Unit, collection: Collection, ids: readonly string[], change: DocumentChange): Promise<Row[]>;
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
  return {
    insert: (unit, collection, inserts) =>
      mapConstraintErrors(async () => {
        const rows = await unit.all(store.insertRows(collection, inserts));
        const values = new Map(inserts.map((insert) => [insert.document.id, insert.values]));
        const wordsIn = (attribute: Attribute) =>
          rows.map(({ id, seq }) => ({
            sequence: String(seq),
            words: joinedOf(attribute, values.get(String(id))),
          }));
        await put(unit, collection, () => true, wordsIn);
        return rows;
      }),
    update: (unit, collection, ids, change) =>
      mapConstraintErrors(async () => {
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
      }),
  };
}

function printedValue({ key, number }: Attribute, data: unknown): StoredValues | undefined {
  return data === null ? undefined : new Map([[number, JSON.parse(`{${data}}`)[key]]]);
}
