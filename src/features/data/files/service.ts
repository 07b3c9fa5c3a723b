import type { FileContent } from '#src/contract/file-content.js';
import type { CarryOutOnce } from '#src/contract/idempotency.js';
import type { RawJson } from '#src/contract/raw-json.js';
import type { Upload } from '#src/contract/upload.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { ListQueries, ListRequest } from '#src/platform/list-query/index.js';
import type { Bucket } from '../buckets/index.js';
import type { Where } from './access.js';
import type { FileRow } from './store.js';

/** A file with its bucket, by whose id it is printed. */
export interface FileInBucket {
  readonly bucket: Bucket;
  readonly file: FileRow;
}

/** A page of a list, and how many files match in all pages. */
export interface FilePage {
  readonly bucket: Bucket;
  readonly total: number;
  readonly files: readonly FileRow[];
}

/** What an update changes; the rest stays. */
export interface FileChange {
  readonly name?: string | undefined;
  readonly permissions?: readonly string[] | undefined;
}

/** The service: files of buckets. Every method throws Failure where the caller lacks the right, and `storage_bucket_not_found`. */
export interface Files {
  /** Takes a file, or a chunk of one, and returns the answer; the file is complete when all of its chunks are there. */
  upload(where: Where, by: AuditContext, upload: Upload, once?: CarryOutOnce): Promise<RawJson>;
  /** Throws Failure `storage_file_not_found` also where the caller must not see it. */
  get(where: Where, id: string): Promise<FileInBucket>;
  list(where: Where, request: ListRequest & ListQueries): Promise<FilePage>;
  /** A complete file, for who may read it or has a token of it: the one check of all that hands out its bytes. */
  opened(where: Where, id: string, token: string | undefined): Promise<FileInBucket>;
  /** The bytes of a complete file, for who may read it or has a token of it. */
  content(
    where: Where,
    id: string,
    options: { readonly token: string | undefined; readonly shown: boolean },
  ): Promise<FileContent>;
  /** Returns the answer: the file, without what the bytes say to a caller who may not read it. */
  update(where: Where, by: AuditContext, id: string, change: FileChange): Promise<RawJson>;
  /** Deletes a file; a job removes its bytes. */
  remove(where: Where, by: AuditContext, id: string): Promise<void>;
  /** A file that the caller may change. */
  shareable(reader: Reader, where: Where, id: string): Promise<FileInBucket>;
  /** Deletes the files that a user has made; returns how many. */
  eraseOf(by: AuditContext, projectId: string, userId: string): Promise<number>;
}
