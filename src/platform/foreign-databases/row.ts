/** A row of a database of another product. */
export type ForeignRow = Readonly<Record<string, unknown>>;
