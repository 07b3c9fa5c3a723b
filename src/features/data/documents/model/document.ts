/** A document as the store reads it. All values are in wire format: instants, and the attributes as JSON text. */
export interface StoredDocument {
  readonly id: string;
  /** Number of its row. Lists are in this order by default. */
  readonly sequence: string;
  readonly databaseId: string;
  readonly collectionId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly permissions: readonly string[];
  /** The attributes as members of a JSON object, without its braces: `"title":"A","pages":3`. Empty if there are none. */
  readonly data: string;
  /** The entity tag of the document itself, if `data` shows related documents in it. */
  readonly etag?: string;
}

/** Values of a document in their stored form, by attribute number. */
export type StoredValues = ReadonlyMap<number, unknown>;

/** Times of a document that differ from the moment of its change. */
export interface Times {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

/** A page of a list of documents as values. */
export interface DocumentPage {
  /** Number of documents that match in all pages. */
  readonly total: number;
  readonly documents: readonly StoredDocument[];
}

/** A page of a list of documents as text. The database prints a page several times faster than it returns its rows. */
export interface PrintedPage {
  readonly total: number;
  /** The documents as JSON texts, joined by commas. */
  readonly documents: string;
}
