import type { GivenDocument } from '../access/service.js';

/** A document to import, with its original times. */
export interface ImportedDocument extends GivenDocument {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}
