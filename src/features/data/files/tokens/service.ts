import type { User } from '#src/contract/actor.js';
import { Failure, invalidParam } from '#src/contract/errors.js';
import { accessGranularitySeconds, fileLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { customId, type Instant } from '#src/contract/shapes.js';
import { equalDigests, keyedDigest } from '#src/platform/crypto/digest.js';
import type { DerivedKey } from '#src/platform/crypto/key-ring.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { type BucketContext, mayShare } from '../model/access.js';
import type { FileInBucket } from '../model/service.js';
import { type FileTokenRow, fileTokens, type TokenStore } from './store.js';

/** Result of a token check. */
export type TokenState = 'opens' | 'expired' | 'unknown';

/** Finds a file that the caller may change and read. Throws Failure. */
export type Shareable = (reader: Reader, where: BucketContext, fileId: string) => Promise<FileInBucket>;

/** Finds a user; undefined if the user is blocked or deleted. */
export type FindUser = (project: Project, id: string) => Promise<User | undefined>;

/** A caller and the file's project. */
type TokenContext = Omit<BucketContext, 'bucketId'>;

/** Tokens that allow reading single files. */
export interface FileTokens {
  /** Checks if a secret opens a file now. A token created by a user works only while that user may share the file. */
  check(project: Project, secret: string, of: FileInBucket): Promise<TokenState>;
  secretOf(token: Pick<FileTokenRow, 'projectId' | 'id' | 'createdAt'>): string;
  create(where: BucketContext, by: AuditContext, fileId: string, expire: number | null): Promise<FileTokenRow>;
  /** A token of a file that the caller may share. Throws Failure `token_not_found`. */
  get(where: TokenContext, id: string): Promise<FileTokenRow>;
  update(where: TokenContext, by: AuditContext, id: string, expire: number | null): Promise<FileTokenRow>;
  remove(where: TokenContext, by: AuditContext, id: string): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'random'> {
  readonly key: DerivedKey;
  readonly store: TokenStore;
  readonly shareable: Shareable;
  readonly findUser: FindUser;
}

/** Builds the service of file tokens. A secret is the id and its HMAC: lists can show it, and the database does not contain it. */
export function createFileTokens(
  { db, clock, random, sealing }: Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing'>,
  store: TokenStore,
  { shareable, findUser }: Pick<Deps, 'shareable' | 'findUser'>,
): FileTokens {
  const deps: Deps = { db, clock, random, key: sealing.derive('file-tokens'), store, shareable, findUser };
  const get: FileTokens['get'] = (where, id) => getShareable(deps, db, where, id);
  return { get, ...bind(deps, { check, secretOf, create, update, remove }) };
}

async function check(deps: Deps, project: Project, secret: string, of: FileInBucket): Promise<TokenState> {
  const { db, clock, random, store, findUser } = deps;
  const { bucket, file } = of;
  const [id = ''] = secret.split('.');
  // Postgres refuses a NUL character.
  if (!customId.safeParse(id).success) return 'unknown';
  const token = await find(deps, db, project.id, id);
  if (token === undefined || !equalDigests(secret, secretOf(deps, token))) return 'unknown';
  if (token.bucketKey !== file.bucketKey || token.fileId !== file.id) return 'unknown';
  if (token.userId !== null) {
    const actor = await findUser(project, token.userId);
    if (actor === undefined || !mayShare({ actor }, bucket, file)) return 'unknown';
  }
  const now = clock.now();
  if (token.expire !== null && millisecondsOf(token.expire) <= now) return 'expired';
  const before = instantOf(now - accessGranularitySeconds.session * 1000);
  if (token.accessedAt === null || token.accessedAt < before)
    await db.note({ projectId: project.id, actor: { kind: 'guest', id: '' }, requestId: random.id() }, async (unit) => {
      await unit.run(store.touch(project.id, id, unit.now, before));
    });
  return 'opens';
}

function secretOf({ key }: Deps, { projectId, id, createdAt }: Pick<FileTokenRow, 'projectId' | 'id' | 'createdAt'>) {
  return `${id}.${keyedDigest(key(createdAt), `${projectId}|${id}`)}`;
}

function create(
  deps: Deps,
  where: BucketContext,
  by: AuditContext,
  fileId: string,
  expire: number | null,
): Promise<FileTokenRow> {
  const { db, random, store, shareable } = deps;
  return db.work(by, async (unit) => {
    const { bucket, file } = await shareable(unit, where, fileId);
    const { count } = (await unit.one(store.count(bucket.key, file.id))) ?? {};
    if (Number(count) >= fileLimits.tokens) throw new Failure('token_limit_exceeded');
    const token: FileTokenRow = {
      projectId: where.project.id,
      id: random.id(),
      bucketKey: bucket.key,
      bucketId: bucket.id,
      fileId: file.id,
      expire: endOf(deps, expire),
      createdAt: unit.now,
      accessedAt: null,
      userId: where.actor.kind === 'user' ? where.actor.id : null,
    };
    await unit.run(store.insert(token));
    unit.record('fileTokenCreated', recordOf(token));
    return token;
  });
}

function update(
  deps: Deps,
  where: TokenContext,
  by: AuditContext,
  id: string,
  expire: number | null,
): Promise<FileTokenRow> {
  return deps.db.work(by, async (unit) => {
    const token = { ...(await getShareable(deps, unit, where, id)), expire: endOf(deps, expire) };
    await unit.run(deps.store.expireAt(where.project.id, id, token.expire));
    unit.record('fileTokenUpdated', recordOf(token));
    return token;
  });
}

function remove(deps: Deps, where: TokenContext, by: AuditContext, id: string): Promise<void> {
  return deps.db.work(by, async (unit) => {
    const token = await getShareable(deps, unit, where, id);
    await unit.run(deps.store.remove(where.project.id, id));
    unit.record('fileTokenDeleted', { resource: recordOf(token).resource, payload: {} });
  });
}

async function getShareable(deps: Deps, reader: Reader, where: TokenContext, id: string): Promise<FileTokenRow> {
  const token = await find(deps, reader, where.project.id, id);
  if (token === undefined) throw new Failure('token_not_found');
  try {
    await deps.shareable(reader, { ...where, bucketId: token.bucketId }, token.fileId);
  } catch (error) {
    // Callers who may not share the file must not learn if it has tokens.
    throw error instanceof Failure ? new Failure('token_not_found') : error;
  }
  return token;
}

async function find({ store }: Deps, reader: Reader, projectId: string, id: string): Promise<FileTokenRow | undefined> {
  const row = await reader.one(store.find({ projectId, id }));
  return row === undefined ? undefined : fileTokens.decode(row);
}

function endOf({ clock }: Deps, time: number | null): Instant | null {
  if (time === null) return null;
  if (time <= clock.now()) throw invalidParam('expire', 'must be in the future.');
  return instantOf(time);
}

function recordOf({ id, bucketId, fileId, expire }: FileTokenRow) {
  return { resource: `buckets/${bucketId}/files/${fileId}/tokens/${id}`, payload: { expire: expire ?? '' } };
}
