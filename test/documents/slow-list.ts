// Lists that a database works on for long: pieces of text that nearly match everywhere.

/** A text in which every place is nearly a match. */
export const longText = 'a'.repeat(400_000);

/** A list that compares each document with so many pieces that nearly match, which takes many seconds; longer ones would not fit into a query. */
export const slowQueries = (pieces = 500): readonly unknown[] => [
  {
    method: 'contains',
    attribute: 'text',
    values: Array.from({ length: pieces }, (_, at) => `aab${at.toString(36).padStart(2, '0')}`),
  },
];

/** A request for a list by GraphQL, where queries may be long. */
export function listBody(databaseId: string, collectionId: string, queries: readonly unknown[]): object {
  return {
    query:
      'query ($d: String!, $c: String!, $q: [String!]) { documentList(databaseId: $d, collectionId: $c, queries: $q) { total } }',
    variables: { d: databaseId, c: collectionId, q: queries.map((query) => JSON.stringify(query)) },
  };
}
