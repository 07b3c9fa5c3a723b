/** Where a document stands below that of the request, and what may still be written there. */
export interface Nesting {
  readonly level: number;
  readonly left: { documents: number; bytes: number };
}
