import type { Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Fragment } from '#src/platform/list-query/index.js';
import type { Collection } from '../../databases/index.js';
import type { StoredDocument } from './document.js';
import { openedData } from './encryption.js';

/** The columns that every document has. */
const columns = ['id', 'cast(seq as text)', 'created_at', 'updated_at', 'permissions'] as const;

/** What `toDocument` reads beside `document`. */
export const documentColumns = `id, ${columns[1]} as seq, created_at, updated_at, permissions`;

/** The same as a JSON array in SQL, for pages that are one text. */
export const columnArrayOf = ({ words }: Sql): string => words.jsonArray(columns);

/**
 * The document of a row of `documentColumns` and of `data`, which are its attributes as the serializer prints them. Throws Failure if a sealed
 * value cannot be opened.
 */
export function toDocument(collection: Collection, row: Row): StoredDocument {
  return documentOf(collection, columnsOf(row), openedData(collection, String(row.id), String(row.data)));
}

/** Like `toDocument`, for a deleted document: a sealed value that cannot be opened is null. */
export function toDeleted(collection: Collection, row: Row): StoredDocument {
  return documentOf(collection, columnsOf(row), openedData(collection, String(row.id), String(row.data), 'null'));
}

/**
 * The documents of a page in lines: for each the array of its columns and then its attributes as they are printed. No printed JSON has a line
 * break. Throws Failure if a sealed value cannot be opened.
 */
export function documentsOf(collection: Collection, page: string): StoredDocument[] {
  const lines = page === '' ? [] : page.split('\n');
  const documents: StoredDocument[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const columns: Columns = JSON.parse(lines[at] ?? '');
    documents.push(documentOf(collection, columns, openedData(collection, columns[0], lines[at + 1] ?? '')));
  }
  return documents;
}

type Columns = readonly [id: string, sequence: string, createdAt: string, updatedAt: string, permissions: string];

function columnsOf(row: Row): Columns {
  return [String(row.id), String(row.seq), String(row.created_at), String(row.updated_at), String(row.permissions)];
}

function documentOf(collection: Collection, columns: Columns, data: string): StoredDocument {
  const [id, sequence, createdAt, updatedAt, permissions] = columns;
  return {
    id,
    sequence,
    databaseId: collection.databaseId,
    collectionId: collection.id,
    createdAt,
    updatedAt,
    permissions: permissions === '[]' ? [] : JSON.parse(permissions),
    data,
  };
}

/** A condition: the id is one of a list, however long, bound as one value. */
export function listedIds(sql: Sql, ids: readonly string[]): Fragment {
  return { sql: `id ${sql.words.isOneOf}`, values: [sql.list(ids)] };
}
