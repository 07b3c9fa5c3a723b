import { shellWord } from '../terminal/exit.js';

/** Names of the row id in other services. */
export const idNames: ReadonlySet<string> = new Set(['id', '_id', 'uid', 'uuid', 'objectId', 'documentId']);

/** Members that identify a PocketBase row, exported or returned by its API. */
const ofPocketBase = ['id', 'collectionId', 'collectionName'];
const pocketBaseFilter =
  '. + {"$id": .id, "$createdAt": (.created | sub(" "; "T")), "$updatedAt": (.updated | sub(" "; "T"))} | del(.id, .collectionId, .collectionName, .created, .updated, .expand)';

/** Suggests a command that converts rows of another service to documents; undefined if they are not recognised. */
export function conversionOf(row: Readonly<Record<string, unknown>>, file: string): string | undefined {
  const names = Object.keys(row);
  const id = names.find((name) => idNames.has(name));
  const [list, ...others] = names.filter((name) => isListOfObjects(row[name]));
  if (['items', 'documents', 'rows', 'data', 'results'].includes(list ?? '') && others.length === 0)
    return `the file is one page of rows; write each on a line of its own: ${jq(`.${list}[]`, file)}`;
  if (ofPocketBase.every((name) => names.includes(name)) && 'created' in row && 'updated' in row)
    return `rows of PocketBase need other names: ${jq(pocketBaseFilter, file)}`;
  return id === undefined
    ? undefined
    : `the id of a document is called $id: ${jq(`. + {"$id": .${id}} | del(.${id})`, file)}`;
}

function isListOfObjects(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'object' && value[0] !== null;
}

function jq(filter: string, file: string): string {
  return `jq -c '${filter}' ${file === '-' ? 'FILE' : shellWord(file)} > documents.ndjson`;
}
