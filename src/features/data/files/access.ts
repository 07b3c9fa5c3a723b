import type { WireActor } from '#src/contract/actor.js';
import type { AnswerRoom } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { allows, type PermissionAction, rolesOf } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import type { Reading } from '#src/contract/reading.js';
import { keyedDigest } from '#src/platform/digest.js';
import type { Bucket } from '../buckets/index.js';
import type { FileRow } from './store.js';

/** Whose call it is, and in which bucket. */
export interface Where {
  readonly project: Project;
  readonly actor: WireActor;
  readonly bucketId: string;
  readonly reading: Reading;
  readonly room: AnswerRoom;
}

/** Whether the bucket itself grants the action to the caller, for every file. */
export function grants({ actor }: Pick<Where, 'actor'>, bucket: Bucket, action: PermissionAction): boolean {
  return actor.kind === 'key' || allows(bucket.permissions, action, rolesOf(actor));
}

/** Whether the caller may do it to a file, by the bucket or by the file itself. */
export function isAllowed(
  where: Pick<Where, 'actor'>,
  bucket: Bucket,
  { permissions }: Pick<FileRow, 'permissions'>,
  action: PermissionAction,
): boolean {
  return grants(where, bucket, action) || (bucket.fileSecurity && allows(permissions, action, rolesOf(where.actor)));
}

/** The roles whose own files a list shows; undefined where it shows all. Throws Failure `user_unauthorized` where it can show none. */
export function visibleRoles(where: Where, bucket: Bucket): readonly string[] | undefined {
  if (grants(where, bucket, 'read')) return undefined;
  if (!bucket.fileSecurity) throw new Failure('user_unauthorized');
  return rolesOf(where.actor);
}

/** Throws Failure unless the caller may change the file. One that the caller may neither read nor change answers like none. */
export function demandChangeable(where: Where, bucket: Bucket, file: FileRow, action: 'update' | 'delete'): void {
  if (isAllowed(where, bucket, file, action)) return;
  const sees = (['read', 'update', 'delete'] as const).some((one) => isAllowed(where, bucket, file, one));
  throw new Failure(sees ? 'user_unauthorized' : 'storage_file_not_found');
}

/** Throws Failure unless the caller may also read the file, as whoever hands out its bytes must. */
export function demandReadable(where: Where, bucket: Bucket, file: FileRow): void {
  if (!isAllowed(where, bucket, file, 'read')) throw new Failure('user_unauthorized');
}

/** Who an upload belongs to: nobody else goes on with it. Guests are told apart by their addresses, which are stored as digests with the key only. */
export function creatorOf({ actor, reading }: Pick<Where, 'actor' | 'reading'>, key: Buffer): string {
  return actor.kind === 'guest' ? `guest:${keyedDigest(key, reading.account)}` : `${actor.kind}:${actor.id}`;
}

const ofUsers = 'user:';

/** The creator of a user's files. */
export function userCreator(userId: string): string {
  return `${ofUsers}${userId}`;
}

/** The user who is the creator; undefined for server keys and guests. */
export function creatingUser(creator: string): string | undefined {
  return creator.startsWith(ofUsers) ? creator.slice(ofUsers.length) : undefined;
}
