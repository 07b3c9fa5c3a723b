import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { allows, type PermissionAction, rolesOf, unpermitted } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import type { Reading } from '#src/contract/reading.js';
import { keyedDigest } from '#src/platform/crypto/digest.js';
import type { Bucket } from '../../buckets/index.js';
import type { FileRow } from './store.js';

/** The caller and the bucket of a request. */
export interface BucketContext {
  readonly project: Project;
  readonly actor: WireActor;
  readonly bucketId: string;
  readonly reading: Reading;
}

/** True if the bucket's own permissions allow the action on every file. */
export function bucketGrants(
  { actor }: Pick<BucketContext, 'actor'>,
  bucket: Bucket,
  action: PermissionAction,
): boolean {
  return actor.kind === 'key' || allows(bucket.permissions, action, rolesOf(actor));
}

/** Error for a missing permission. Names the file if its own permissions count. */
export function unpermittedInBucket(
  { actor }: Pick<BucketContext, 'actor'>,
  bucket: Bucket,
  action: PermissionAction,
  id?: string,
): Failure {
  return unpermitted(action, actor, `storage/buckets/${bucket.id}`, bucket.fileSecurity ? id : undefined);
}

/** True if the bucket or the file itself allows the action. */
export function isAllowed(
  where: Pick<BucketContext, 'actor'>,
  bucket: Bucket,
  { permissions }: Pick<FileRow, 'permissions'>,
  action: PermissionAction,
): boolean {
  return (
    bucketGrants(where, bucket, action) || (bucket.fileSecurity && allows(permissions, action, rolesOf(where.actor)))
  );
}

/**
 * Roles that filter a list by the files' own permissions; undefined if all files are visible. Throws Failure `user_unauthorized` if none
 * can be visible.
 */
export function visibleRoles(where: BucketContext, bucket: Bucket): readonly string[] | undefined {
  if (bucketGrants(where, bucket, 'read')) return undefined;
  if (!bucket.fileSecurity) throw unpermittedInBucket(where, bucket, 'read');
  return rolesOf(where.actor);
}

/** Throws Failure unless the caller may change the file: `storage_file_not_found` if the caller may neither read nor change it. */
export function requireChangeableFile(
  where: BucketContext,
  bucket: Bucket,
  file: FileRow,
  action: 'update' | 'delete',
): void {
  if (isAllowed(where, bucket, file, action)) return;
  const sees = (['read', 'update', 'delete'] as const).some((one) => isAllowed(where, bucket, file, one));
  throw sees ? unpermittedInBucket(where, bucket, action, file.id) : new Failure('storage_file_not_found');
}

/** Throws Failure unless the caller may also read the file. Sharing its bytes requires that. */
export function requireReadable(where: BucketContext, bucket: Bucket, file: FileRow): void {
  if (!isAllowed(where, bucket, file, 'read')) throw unpermittedInBucket(where, bucket, 'read', file.id);
}

/** True if the caller may create links to the file. */
export function mayShare(where: Pick<BucketContext, 'actor'>, bucket: Bucket, file: FileRow): boolean {
  return (['update', 'read'] as const).every((action) => isAllowed(where, bucket, file, action));
}

/** The owner of an upload; no other caller can continue it. A guest is identified by address, stored only as a keyed digest. */
export function creatorOf({ actor, reading }: Pick<BucketContext, 'actor' | 'reading'>, key: Buffer): string {
  return actor.kind === 'guest' ? `guest:${keyedDigest(key, reading.account)}` : `${actor.kind}:${actor.id}`;
}

const ofUsers = 'user:';

/** The `creator` value of files created by a user. */
export function userCreator(userId: string): string {
  return `${ofUsers}${userId}`;
}

/** The user in `creator`; undefined for server keys and guests. */
export function creatingUser(creator: string): string | undefined {
  return creator.startsWith(ofUsers) ? creator.slice(ofUsers.length) : undefined;
}
