/** Level of a document nested in another one of the request, and what the request may still write. */
export interface Nesting {
  readonly level: number;
  readonly left: { documents: number; bytes: number };
  /** Permissions of the parent document, which a new document gets if it has none of its own. */
  readonly permissions: readonly string[];
}
