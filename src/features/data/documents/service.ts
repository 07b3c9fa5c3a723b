import type { AuditContext, Where } from './collections.js';
import type { DocumentPage, PrintedPage, StoredDocument } from './document.js';

/** What a document is made of or changed to. */
interface DocumentInput {
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly permissions?: readonly string[] | undefined;
}

/** The service: documents of collections. Every method throws Failure where the caller lacks the right. */
export interface Documents {
  /** A document, of which `queries` may select attributes. Throws Failure `document_not_found` also where the caller must not see it. */
  get(where: Where, id: string, queries?: readonly string[]): Promise<StoredDocument>;
  /** A page of a list, and how many documents match in all pages: `exact`, up to the limit of the installation, or not counted. */
  list(where: Where, queries: readonly string[], total: 'exact' | boolean): Promise<DocumentPage>;
  /** The same page as text. */
  printedList(where: Where, queries: readonly string[], total: 'exact' | boolean): Promise<PrintedPage>;
  /** Creates a document; the id may be `unique()`. */
  create(where: Where, by: AuditContext, id: string, input: DocumentInput): Promise<StoredDocument>;
  /** Changes what is given. A caller who may not read the document gets it back without its attributes. */
  update(where: Where, by: AuditContext, id: string, input: DocumentInput): Promise<StoredDocument>;
  /** Deletes a document and returns it as far as the caller may see it. */
  remove(where: Where, by: AuditContext, id: string): Promise<StoredDocument>;
}
