/** A document as the store reads it. Every value is in the form of the wire: instants, and the attributes as JSON text. */
export interface StoredDocument {
  readonly id: string;
  /** The number of its row, by which lists are ordered where nothing else is asked. */
  readonly sequence: string;
  readonly databaseId: string;
  readonly collectionId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly permissions: readonly string[];
  /** The attributes as members of a JSON object, without its braces: `"title":"A","pages":3`. Empty where there are none. */
  readonly data: string;
}

/** Values of a document in their stored form, by attribute number. */
export type StoredValues = ReadonlyMap<number, unknown>;

/** Times of a document that are not the moment of its change. */
export interface Times {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

/** A page of a list of documents as values. */
export interface DocumentPage {
  /** How many documents match in all pages. */
  readonly total: number;
  readonly documents: readonly StoredDocument[];
}

/** A page of a list of documents as text: the database prints a page several times faster than it returns the rows of it. */
export interface PrintedPage {
  readonly total: number;
  /** The documents as JSON texts, joined by commas. */
  readonly documents: string;
}

/** A document without its attributes. */
export function withoutAttributes(document: StoredDocument): StoredDocument {
  return { ...document, data: '' };
}
