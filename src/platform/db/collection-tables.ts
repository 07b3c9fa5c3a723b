/** The table of a collection. Table names contain only numbers assigned by the service. */
export const documentTable = (number: number): string => `d_${number}`;
/** The table of the roles that may read single documents. */
export const readersTable = (number: number): string => `r_${number}`;
/** The table of the words in a fulltext index of a collection. */
export const wordsTable = (number: number, index: number): string => `w_${number}_${index}`;
/** The table of document counts: the count of a collection is the sum of its rows. */
export const countsTable = 'collection_counts';

/** The prefix of tables that are no longer used, and whose rows are being removed. */
export const removedPrefix = 'removed_';
