import { Failure } from '#src/contract/errors.js';
import { accessGranularitySeconds, fileLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader } from '#src/platform/db/unit.js';
import { equalDigests, keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import type { Where } from '../access.js';
import type { FileInBucket } from '../service.js';
import type { FileRow } from '../store.js';
import { type FileTokenRow, fileTokens, type TokenStore } from './store.js';

/** What a secret is to a file. */
export type TokenState = 'opens' | 'expired' | 'unknown';

/** Finds a file that the caller may change. Throws Failure. */
export type Shareable = (reader: Reader, where: Where, fileId: string) => Promise<FileInBucket>;

/** The service: tokens that open single files. */
export interface FileTokens {
  /** Whether a secret opens a file now. */
  check(project: Project, secret: string, file: FileRow): Promise<TokenState>;
  secretOf(token: Pick<FileTokenRow, 'projectId' | 'id'>): string;
  create(where: Where, by: AuditContext, fileId: string, expire: string | null): Promise<FileTokenRow>;
  /** A token of a file that the caller may change. Throws Failure `token_not_found`. */
  get(where: Omit<Where, 'bucketId'>, id: string): Promise<FileTokenRow>;
  update(where: Omit<Where, 'bucketId'>, by: AuditContext, id: string, expire: string | null): Promise<FileTokenRow>;
  remove(where: Omit<Where, 'bucketId'>, by: AuditContext, id: string): Promise<void>;
}

/** Builds the service of file tokens. A secret is the id and an HMAC of it, so lists can show it and nothing of it is stored. */
export function createFileTokens(
  { db, clock, random, sealing }: Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing'>,
  store: TokenStore,
  shareable: Shareable,
): FileTokens {
  const key = sealing.derive('file-tokens');
  const secretOf = ({ projectId, id }: Pick<FileTokenRow, 'projectId' | 'id'>) =>
    `${id}.${keyedDigest(key, `${projectId}|${id}`)}`;
  const find = async (reader: Reader, projectId: string, id: string): Promise<FileTokenRow | undefined> => {
    const row = await reader.one(store.find({ projectId, id }));
    return row === undefined ? undefined : fileTokens.decode(row);
  };
  const endOf = (expire: string | null): Instant | null => {
    if (expire === null) return null;
    const time = Date.parse(expire);
    if (time <= clock.now())
      throw new Failure('general_argument_invalid', { message: 'Invalid `expire` param: must be in the future.' });
    return instantOf(time);
  };
  const get = async (reader: Reader, where: Omit<Where, 'bucketId'>, id: string): Promise<FileTokenRow> => {
    const token = await find(reader, where.project.id, id);
    if (token === undefined) throw new Failure('token_not_found');
    try {
      await shareable(reader, { ...where, bucketId: token.bucketId }, token.fileId);
    } catch (error) {
      // Who may not change the file learns nothing of its tokens.
      throw error instanceof Failure ? new Failure('token_not_found') : error;
    }
    return token;
  };
  const recordOf = ({ id, bucketId, fileId, expire }: FileTokenRow) => ({
    resource: `buckets/${bucketId}/files/${fileId}/tokens/${id}`,
    payload: { expire: expire ?? '' },
  });
  return {
    secretOf,
    check: async (project, secret, file) => {
      const [id = ''] = secret.split('.');
      if (!equalDigests(secret, secretOf({ projectId: project.id, id }))) return 'unknown';
      const token = await find(db, project.id, id);
      if (token === undefined || token.bucketKey !== file.bucketKey || token.fileId !== file.id) return 'unknown';
      const now = clock.now();
      if (token.expire !== null && millisecondsOf(token.expire) <= now) return 'expired';
      const before = instantOf(now - accessGranularitySeconds.session * 1000);
      if (token.accessedAt === null || token.accessedAt < before)
        await db.note(
          { projectId: project.id, actor: { kind: 'guest', id: '' }, requestId: random.id() },
          async (unit) => {
            await unit.run(store.touch(project.id, id, unit.now, before));
          },
        );
      return 'opens';
    },
    create: (where, by, fileId, expire) =>
      db.work(by, async (unit) => {
        const { bucket, file } = await shareable(unit, where, fileId);
        const { count } = (await unit.one(store.count(bucket.key, file.id))) ?? {};
        if (Number(count) >= fileLimits.tokens) throw new Failure('token_limit_exceeded');
        const token: FileTokenRow = {
          projectId: where.project.id,
          id: random.id(),
          bucketKey: bucket.key,
          bucketId: bucket.id,
          fileId: file.id,
          expire: endOf(expire),
          createdAt: unit.now,
          accessedAt: null,
        };
        await unit.run(store.insert(token));
        unit.record('fileTokenCreated', recordOf(token));
        return token;
      }),
    get: (where, id) => get(db, where, id),
    update: (where, by, id, expire) =>
      db.work(by, async (unit) => {
        const token = { ...(await get(unit, where, id)), expire: endOf(expire) };
        await unit.run(store.expireAt(where.project.id, id, token.expire));
        unit.record('fileTokenUpdated', recordOf(token));
        return token;
      }),
    remove: (where, by, id) =>
      db.work(by, async (unit) => {
        const token = await get(unit, where, id);
        await unit.run(store.remove(where.project.id, id));
        unit.record('fileTokenDeleted', { resource: recordOf(token).resource, payload: {} });
      }),
  };
}
