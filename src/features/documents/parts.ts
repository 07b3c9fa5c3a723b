/** A document in parts, each of them JSON text. */
type DocumentParts = {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly permissions: string;
  /** The attributes. */
  readonly data: string;
};

const idName = '{"$id":';
// What is looked for begins with a character that is rare there, which a search can skip to.
const createdName = '$createdAt":';
const updatedName = ',"$updatedAt":';
const permissionsName = ',"$permissions":';
const nextDocument = `},${idName}`;

/**
 * Takes a document apart that `printer.ts` has printed: always the same system members in the same order, then the attributes. Ids and times
 * hold no quotes. Every permission ends with `")`, whose quote is escaped, so `)"]` can only be the end of the list.
 */
export function partsOf(printed: string): DocumentParts {
  const endOfText = (from: number) => printed.indexOf('"', from + 1) + 1;
  const idEnd = endOfText(idName.length);
  const createdFrom = printed.indexOf(createdName, idEnd) + createdName.length;
  const createdEnd = endOfText(createdFrom);
  const updatedFrom = createdEnd + updatedName.length;
  const updatedEnd = endOfText(updatedFrom);
  const permissionsFrom = updatedEnd + permissionsName.length;
  const grantsNothing = printed.startsWith('[]', permissionsFrom);
  const permissionsEnd = grantsNothing ? permissionsFrom + 2 : printed.indexOf(')"]', permissionsFrom) + 3;
  const hasAttributes = printed[permissionsEnd] === ',';
  return {
    id: printed.slice(idName.length, idEnd),
    createdAt: printed.slice(createdFrom, createdEnd),
    updatedAt: printed.slice(updatedFrom, updatedEnd),
    permissions: printed.slice(permissionsFrom, permissionsEnd),
    data: hasAttributes ? `{${printed.slice(permissionsEnd + 1)}` : '{}',
  };
}

/**
 * Takes a printed list apart, `{"total":N,"documents":[…]}`. Attributes are no objects and quotes within a text are escaped, so `{"$id":` can only be
 * where a document begins.
 */
export function pageOf(printed: string): { readonly total: string; readonly documents: readonly DocumentParts[] } {
  const documents: DocumentParts[] = [];
  const end = printed.length - ']}'.length;
  let from = printed.indexOf(idName);
  while (from !== -1) {
    const last = printed.indexOf(nextDocument, from);
    documents.push(partsOf(printed.slice(from, last === -1 ? end : last + 1)));
    from = last === -1 ? -1 : last + 2;
  }
  return { total: printed.slice('{"total":'.length, printed.indexOf(',')), documents };
}
