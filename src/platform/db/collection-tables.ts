/** The table of a collection; every name in it is made of our own numbers. */
export const documentTable = (number: number): string => `d_${number}`;
/** The table of the roles that may read single documents. */
export const readersTable = (number: number): string => `r_${number}`;
/** The table of the words that a fulltext index of a collection holds. */
export const wordsTable = (number: number, index: number): string => `w_${number}_${index}`;
/** The table of how many documents collections have: the sum of its rows for a collection. */
export const countsTable = 'collection_counts';
