/** Words for a collection and its parts. The routes of `/tablesdb` have others than those of `/databases`. */
export interface Terms {
  readonly collection: string;
  readonly document: string;
  readonly documents: string;
  readonly attribute: string;
  readonly attributes: string;
  readonly documentId: string;
}

/** A message for clients of either routes. */
export type Wording = (terms: Terms) => string;

/** The words of `/databases`. */
export const databaseTerms: Terms = {
  collection: 'collection',
  document: 'document',
  documents: 'documents',
  attribute: 'attribute',
  attributes: 'attributes',
  documentId: 'documentId',
};

/** The words of `/tablesdb`. */
export const tableTerms: Terms = {
  collection: 'table',
  document: 'row',
  documents: 'rows',
  attribute: 'column',
  attributes: 'columns',
  documentId: 'rowId',
};
