import type { FileContent } from '#src/contract/file-content.js';
import type { CarryOutOnce } from '#src/contract/idempotency.js';
import type { RawJson } from '#src/contract/raw-json.js';
import type { Upload } from '#src/contract/upload.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { ListQueries, ListRequest } from '#src/platform/list-query/index.js';
import type { Bucket } from '../../buckets/index.js';
import type { BucketContext } from './access.js';
import type { FileRow } from './store.js';

/** A file and its bucket. The wire format contains the bucket's id. */
export interface FileInBucket {
  readonly bucket: Bucket;
  readonly file: FileRow;
}

/** A page of a list, and the number of matching files on all pages. */
export interface FilePage {
  readonly bucket: Bucket;
  readonly total: number;
  readonly files: readonly FileRow[];
}

/** Fields to change. Omitted ones keep their value. */
export interface FileChange {
  readonly name?: string | undefined;
  readonly permissions?: readonly string[] | undefined;
}

/** Files of buckets. Every method throws Failure if the caller lacks the permission, and `storage_bucket_not_found`. */
export interface Files {
  /** Stores a file, or a chunk of one, and returns the response. The file is complete once all of its chunks have arrived. */
  upload(where: BucketContext, by: AuditContext, upload: Upload, once?: CarryOutOnce): Promise<RawJson>;
  /** Throws Failure `storage_file_not_found`, also if the caller may not read the file. */
  get(where: BucketContext, id: string): Promise<FileInBucket>;
  list(where: BucketContext, request: ListRequest & ListQueries): Promise<FilePage>;
  /** A complete file, for a caller with the read permission or a token. Every operation that returns bytes uses this check. */
  opened(where: BucketContext, id: string, token: string | undefined): Promise<FileInBucket>;
  /** The bytes of a complete file, for a caller with the read permission or a token. */
  content(
    where: BucketContext,
    id: string,
    options: { readonly token: string | undefined; readonly shown: boolean },
  ): Promise<FileContent>;
  /** Returns the response: the file, without data derived from its bytes if the caller may not read it. */
  update(where: BucketContext, by: AuditContext, id: string, change: FileChange): Promise<RawJson>;
  /** Deletes a file; a job removes its bytes. */
  remove(where: BucketContext, by: AuditContext, id: string): Promise<void>;
  /** Response to a repeated change, from the stored one: without data derived from the bytes if the caller may no longer read the file. */
  repeated(
    where: BucketContext,
    id: string,
    action: 'update' | 'delete',
    kept: () => RawJson | undefined,
  ): Promise<RawJson | undefined>;
  /** A file that the caller may change and read. */
  shareable(reader: Reader, where: BucketContext, id: string): Promise<FileInBucket>;
  /** Deletes the files created by a user. Returns their number. */
  eraseOf(by: AuditContext, projectId: string, userId: string): Promise<number>;
}
