import type { RawJson } from '#src/contract/raw-json.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { WholeNumber } from '#src/platform/text/json.js';
import type { DocumentPage, PrintedPage, StoredDocument } from '../model/document.js';
import type { RepeatedChange } from './access.js';
import type { CollectionContext } from './collections.js';

/** Level of a document nested in another one of the request, and what the request may still write. */
export interface Nesting {
  readonly level: number;
  readonly left: { documents: number; bytes: number };
  /** Permissions of the parent document, which a new document gets if it has none of its own. */
  readonly permissions: readonly string[];
}

/** Data of a document to create or to change. */
export interface DocumentInput {
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** Set if the document is nested in another one of the request. */
  readonly nesting?: Nesting | undefined;
  /** Disables operators: text that looks like an operator stays text. */
  readonly verbatim?: true;
}

/** One of several documents of a request. */
export interface GivenDocument extends DocumentInput {
  readonly id: string;
}

/** A condition of a change: the document must have one of the entity tags. */
export interface Precondition {
  readonly ifMatch?: string | undefined;
}

/** An addition to a number of a document, or a subtraction. */
export interface Increment {
  readonly attribute: string;
  /** More than zero. */
  readonly by: WholeNumber;
  readonly down: boolean;
  /** Upper bound of the result, or lower bound if `down`, in addition to the bounds of the attribute. */
  readonly bound: WholeNumber | undefined;
}

/** Documents of collections. Every method throws Failure if the caller lacks permission. */
export interface Documents {
  /**
   * Reads a document. `queries` may select attributes; `populate` names relationships to follow. Throws Failure `document_not_found` also
   * if the caller may not see it.
   */
  get(
    where: CollectionContext,
    id: string,
    queries?: readonly string[],
    populate?: readonly string[],
  ): Promise<StoredDocument>;
  /** Reads a page of a list. `total` decides how all matches are counted: `exact`, up to the limit of the installation, or not at all. */
  list(
    where: CollectionContext,
    queries: readonly string[],
    total: 'exact' | boolean,
    populate?: readonly string[],
  ): Promise<DocumentPage>;
  /** The same page as text. */
  printedList(
    where: CollectionContext,
    queries: readonly string[],
    total: 'exact' | boolean,
    populate?: readonly string[],
  ): Promise<PrintedPage>;
  /** Creates a document; the id may be `unique()`. */
  create(where: CollectionContext, by: AuditContext, id: string, input: DocumentInput): Promise<StoredDocument>;
  /** Changes the given members. A caller without read permission gets the document back without its attributes. */
  update(
    where: CollectionContext,
    by: AuditContext,
    id: string,
    input: DocumentInput & Precondition,
  ): Promise<StoredDocument>;
  /** Creates the document, or changes the given members of an existing one. Every required attribute must be given in both cases. */
  upsert(
    where: CollectionContext,
    by: AuditContext,
    id: string,
    input: DocumentInput & Precondition,
  ): Promise<StoredDocument>;
  /** Adds to a number or subtracts from it. Throws Failure `attribute_limit_exceeded` if the result is out of bounds. */
  increment(
    where: CollectionContext,
    by: AuditContext,
    id: string,
    increment: Increment & Precondition,
  ): Promise<StoredDocument>;
  /** Creates several documents, all or none. */
  createAll(where: CollectionContext, by: AuditContext, given: readonly GivenDocument[]): Promise<PrintedPage>;
  /** Creates or changes several documents, all or none. */
  upsertAll(where: CollectionContext, by: AuditContext, given: readonly GivenDocument[]): Promise<PrintedPage>;
  /** Changes the documents that match queries, all or none. */
  updateAll(
    where: CollectionContext,
    by: AuditContext,
    queries: readonly string[],
    input: DocumentInput,
  ): Promise<PrintedPage>;
  /** Deletes the documents that match queries, all or none. */
  removeAll(where: CollectionContext, by: AuditContext, queries: readonly string[]): Promise<PrintedPage>;
  /** Deletes a document and returns what the caller may see of it. */
  remove(where: CollectionContext, by: AuditContext, id: string, precondition?: Precondition): Promise<StoredDocument>;
  /** Answers a duplicate of a change from the stored answer; without attributes if the caller may no longer read the document. */
  repeated(
    where: CollectionContext,
    change: RepeatedChange,
    kept: () => RawJson | undefined,
  ): Promise<RawJson | undefined>;
}
