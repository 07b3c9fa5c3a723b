import type { WholeNumber } from '#src/platform/json.js';
import type { AuditContext, Where } from './collections.js';
import type { DocumentPage, PrintedPage, StoredDocument } from './document.js';
import type { Nesting } from './relations/nesting.js';

/** What a document is made of or changed to. */
export interface DocumentInput {
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** Given where the document stands below another in a request. */
  readonly nesting?: Nesting | undefined;
  /** A text that looks like an operator is a text. */
  readonly verbatim?: true;
}

/** A document of a request that gives several. */
export interface GivenDocument extends DocumentInput {
  readonly id: string;
}

/** A condition of a change: the entity tags of which the document must have one. */
export interface Precondition {
  readonly ifMatch?: string | undefined;
}

/** What is added to a number of a document. */
export interface Increment {
  readonly attribute: string;
  /** More than zero. */
  readonly by: WholeNumber;
  readonly down: boolean;
  /** The largest value that may come of it, or the smallest where it goes down, beside the bounds of the attribute. */
  readonly bound: WholeNumber | undefined;
}

/** The service: documents of collections. Every method throws Failure where the caller lacks the right. */
export interface Documents {
  /** A document, of which `queries` may select attributes and `populate` names relationships that are followed. Throws Failure `document_not_found` also where the caller must not see it. */
  get(where: Where, id: string, queries?: readonly string[], populate?: readonly string[]): Promise<StoredDocument>;
  /** A page of a list, and how many documents match in all pages: `exact`, up to the limit of the installation, or not counted. */
  list(
    where: Where,
    queries: readonly string[],
    total: 'exact' | boolean,
    populate?: readonly string[],
  ): Promise<DocumentPage>;
  /** The same page as text. */
  printedList(
    where: Where,
    queries: readonly string[],
    total: 'exact' | boolean,
    populate?: readonly string[],
  ): Promise<PrintedPage>;
  /** Creates a document; the id may be `unique()`. */
  create(where: Where, by: AuditContext, id: string, input: DocumentInput): Promise<StoredDocument>;
  /** Changes what is given. A caller who may not read the document gets it back without its attributes. */
  update(where: Where, by: AuditContext, id: string, input: DocumentInput & Precondition): Promise<StoredDocument>;
  /** Creates the document, or changes what is given of the one that is there, which needs every required attribute all the same. */
  upsert(where: Where, by: AuditContext, id: string, input: DocumentInput & Precondition): Promise<StoredDocument>;
  /** Adds to a number or subtracts from it. Throws Failure `attribute_limit_exceeded` where it would leave its bounds. */
  increment(where: Where, by: AuditContext, id: string, increment: Increment & Precondition): Promise<StoredDocument>;
  /** Creates several documents, all or none. */
  createAll(where: Where, by: AuditContext, given: readonly GivenDocument[]): Promise<PrintedPage>;
  /** Creates or changes several documents, all or none. */
  upsertAll(where: Where, by: AuditContext, given: readonly GivenDocument[]): Promise<PrintedPage>;
  /** Changes the documents that match queries, all or none. */
  updateAll(where: Where, by: AuditContext, queries: readonly string[], input: DocumentInput): Promise<PrintedPage>;
  /** Deletes the documents that match queries, all or none. */
  removeAll(where: Where, by: AuditContext, queries: readonly string[]): Promise<PrintedPage>;
  /** Deletes a document and returns it as far as the caller may see it. */
  remove(where: Where, by: AuditContext, id: string, precondition?: Precondition): Promise<StoredDocument>;
}
