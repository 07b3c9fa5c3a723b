import type { Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import { createWordStore, type WordsOfRow } from '#src/platform/db/word-store.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type Attribute, type Collection, fulltextIndexes } from '../../databases/index.js';
import type { StoredDocument, StoredValues } from '../model/document.js';
import { resealedValues, sealedKeys } from '../model/encryption.js';
import { joinedWords } from '../model/structure.js';
import { mapConstraintErrors, wireNow } from '../store/errors.js';
import type { DocumentStore, InsertRow, NewDocument } from '../store/store.js';
import type { DocumentChange } from '../store/update-statement.js';

/** Writes rows of documents together with the words of fulltext indexes, in one unit. Deleting a row deletes its words. */
export interface RowWrites {
  /** Returns the inserted documents by id: none if the schema has changed, and none for a row with a unique value that another document has. */
  insert(unit: Unit, collection: Collection, documents: readonly NewDocument[]): Promise<Map<string, StoredDocument>>;
  /** Returns each changed document, as `DocumentStore.updateRows`. */
  update(unit: Unit, collection: Collection, ids: readonly string[], change: DocumentChange): Promise<Row[]>;
}

/** Values per statement, below the limits of both databases. */
const maxValues = 20_000;

/** The most new rows of a collection in one statement. */
export function maxRows({ attributes }: Collection): number {
  return Math.max(1, Math.floor(maxValues / (attributes.length + 10)));
}

type WordStore = ReturnType<typeof createWordStore>;

interface Deps {
  readonly store: DocumentStore;
  readonly words: WordStore;
}

/** Creates the writer of rows. Values that indexes refuse are thrown as a Failure. */
export function createRowWrites(sql: Sql, store: DocumentStore): RowWrites {
  const deps: Deps = { store, words: createWordStore(sql) };
  return bind(deps, { insert, update });
}

function insert(deps: Deps, unit: Unit, collection: Collection, documents: readonly NewDocument[]) {
  return mapConstraintErrors(collection, async () => {
    const now = wireNow(unit);
    const inserts = documents.map((document) => deps.store.insertRow(collection, document, now));
    const written = new Map<string, StoredDocument>();
    const max = maxRows(collection);
    for (let at = 0; at < inserts.length; at += max)
      await insertSome(deps, unit, collection, inserts.slice(at, at + max), written);
    return written;
  });
}

async function insertSome(
  { store, words }: Deps,
  unit: Unit,
  collection: Collection,
  inserts: readonly InsertRow[],
  written: Map<string, StoredDocument>,
): Promise<void> {
  const byId = new Map(inserts.map((insert) => [insert.document.id, insert]));
  const rows = (await unit.all(store.insertRows(collection, inserts))).map(({ id, seq }) => ({
    insert: byId.get(String(id)),
    sequence: String(seq),
  }));
  for (const { insert, sequence } of rows)
    if (insert !== undefined) written.set(insert.document.id, { ...insert.document, sequence });
  const wordsIn = (attribute: Attribute) =>
    rows.map(({ insert, sequence }) => ({ sequence, words: joinedOf(attribute, insert?.values) }));
  await put(words, unit, collection, () => true, wordsIn);
}

function update(deps: Deps, unit: Unit, collection: Collection, ids: readonly string[], change: DocumentChange) {
  return mapConstraintErrors(collection, async () => {
    const rows = await updateRows(deps.store, unit, collection, ids, change);
    const wordsIn = (attribute: Attribute) =>
      rows.map(({ seq, data }) => ({
        sequence: String(seq),
        // A value computed by the database is read from the printed row; a row that is too long to print is refused.
        words: joinedOf(
          attribute,
          change.computed.has(attribute.number) ? printedValue(attribute, data) : change.values,
        ),
      }));
    const isChanged = ({ number }: Attribute) => change.values.has(number) || change.computed.has(number);
    await put(deps.words, unit, collection, isChanged, wordsIn);
    return rows;
  }, [...change.computed.keys()]);
}

/** Updates rows. Encrypted values differ by document, so changing them takes a statement per document. Unchanged values keep their bytes. */
async function updateRows(
  store: DocumentStore,
  unit: Unit,
  collection: Collection,
  ids: readonly string[],
  change: DocumentChange,
): Promise<Row[]> {
  const { seal } = collection;
  const keys = seal === undefined ? [] : sealedKeys(seal, change.values);
  if (seal === undefined || keys.length === 0) return unit.all(store.updateRows(collection, ids, change));
  const rows: Row[] = [];
  for (const before of await unit.all(store.values(collection, ids, keys))) {
    const id = String(before.id);
    const values = resealedValues(seal, id, change.values, String(before.data));
    rows.push(...(await unit.all(store.updateRows(collection, [id], { ...change, values }))));
  }
  return rows;
}

function printedValue({ key, number }: Attribute, data: unknown): StoredValues | undefined {
  return data === null ? undefined : new Map([[number, JSON.parse(`{${data}}`)[key]]]);
}

function joinedOf(attribute: Attribute, values: StoredValues | undefined): string {
  return values === undefined ? '' : joinedWords(attribute, values);
}

/** Writes the words of each fulltext index that a change affects. */
async function put(
  words: WordStore,
  unit: Unit,
  collection: Collection,
  isChanged: (attribute: Attribute) => boolean,
  wordsIn: (attribute: Attribute) => readonly WordsOfRow[],
): Promise<void> {
  for (const { index, attribute } of fulltextIndexes(collection)) {
    if (!isChanged(attribute)) continue;
    const rows = wordsIn(attribute);
    if (rows.length > 0) await unit.run(words.put(collection.number, index.number, rows));
  }
}
