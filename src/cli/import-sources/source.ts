import type { ImportedDocument } from '#src/features/index.js';
import type { ProjectFile } from '../project-file/file.js';
import type { UserRecordOfFile } from '../user-records/index.js';

/** Something of the source that svc does not import, and why. */
export interface Unsupported {
  readonly kind: string;
  readonly count: number;
  readonly reason: string;
}

/** A membership, confirmed or invited. */
export interface SourceMembership {
  readonly id: string;
  readonly teamId: string;
  readonly userId: string;
  readonly roles: readonly string[];
  readonly confirmed: boolean;
  /** Times in ISO 8601. */
  readonly invited: string;
  readonly joined: string | null;
}

/** A record that cannot be imported. With `source_incomplete`, a list that ended early; the id is its path. */
export interface Unread {
  readonly id: string;
  readonly problem: string;
  readonly type?: 'source_incomplete';
}

/** A record of the source, or the reason why it cannot be imported. */
export type Read<T> = T | Unread;

/** A file of a bucket. */
export interface SourceFile {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  /** Times in ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly size: number;
  readonly mimeType: string;
  /** MD5 in hexadecimal; undefined if the source does not have it. */
  readonly signature: string | undefined;
  /** Reads the bytes. Throws Failure if this file cannot be read, `general_unavailable` if another attempt may succeed. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/**
 * A project of another product, opened for an import. All lists are read in constant memory, and once, except for documents with
 * relationships.
 */
export interface ImportSource {
  /** Teams, databases with collections, buckets and webhooks: what `svc project apply` can create. */
  readonly schema: ProjectFile;
  /** Times of creation of the teams, by id. */
  readonly teamTimes?: ReadonlyMap<string, string>;
  /** Parts of the schema that could not be read, by the noun of their kind. */
  readonly unreadSchema?: readonly (Unread & { readonly kind: string })[];
  users(): AsyncIterable<UserRecordOfFile>;
  memberships(): AsyncIterable<Read<SourceMembership>>;
  /**
   * Documents with all their values. Relationships are ids, or lists of ids. Called with `values` for every collection, and then with
   * `relationships` for those that have any. A source may leave out the other part.
   */
  documents(
    databaseId: string,
    collectionId: string,
    part: 'values' | 'relationships',
  ): AsyncIterable<Read<ImportedDocument>>;
  files(bucketId: string): AsyncIterable<Read<SourceFile>>;
  /** Complete after everything else was read. */
  unsupported(): readonly Unsupported[];
  close(): Promise<void>;
}
