import { Failure } from '#src/contract/errors.js';
import { demandOwnRoles, expandPermissions } from '#src/contract/permissions.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Idempotency } from '../../installation/index.js';
import type { Bucket, Buckets } from '../buckets/index.js';
import { demandChangeable, isAllowed, userCreator, type Where } from './access.js';
import { demandExtension, safeName } from './names.js';
import { recordOf } from './record.js';
import type { Files } from './service.js';
import { type FileRow, type FileStatements, files } from './store.js';
import { beginOf, fileReply, withoutContent } from './view.js';

interface Deps {
  readonly buckets: Buckets;
  readonly statements: FileStatements;
  readonly idempotency: Idempotency;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketIn: (reader: Reader, where: Where) => Promise<Bucket>;
}

/** Files that one step of an erasure deletes. */
const erasedAtOnce = 100;

/** Changes of files. */
export function createWrites(
  { db }: Pick<Runtime, 'db'>,
  { buckets, statements, bucketIn, idempotency }: Deps,
): Pick<Files, 'update' | 'remove' | 'eraseOf'> {
  /** Throws Failure `storage_file_not_found`. */
  const lock = async (unit: Unit, bucketKey: string, id: string): Promise<FileRow> => {
    const row = await unit.one(statements.lock(bucketKey, id));
    if (row === undefined) throw new Failure('storage_file_not_found');
    return files.decode(row);
  };
  /** The row goes first: it never names bytes that are not there. */
  const removeFile = async (unit: Unit, projectId: string, bucket: Pick<Bucket, 'id' | 'key'>, file: FileRow) => {
    await unit.run(statements.leaveObjects(bucket.key, [file.id], unit.now));
    await unit.run(statements.remove(bucket.key, file.id));
    await buckets.release(unit, projectId, bucket.key, { files: 1, bytes: file.sizeOriginal });
    if (file.completedAt !== null) unit.record('fileDeleted', recordOf(bucket, file));
  };
  return {
    update: (where, by, id, { name, permissions }) =>
      db.work(by, async (unit) => {
        const bucket = await bucketIn(unit, where);
        const file = await lock(unit, bucket.key, id);
        demandChangeable(where, bucket, file, 'update');
        const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
        if (granted !== undefined) demandOwnRoles(granted, where.actor);
        if (name !== undefined) demandExtension(bucket, safeName(name));
        const change = {
          name: name === undefined ? file.name : safeName(name),
          permissions: granted ?? file.permissions,
          updatedAt: unit.now,
        };
        await unit.run(statements.update(bucket.key, id, change));
        const changed = { ...file, ...change };
        const { resource, payload, announce, audience } = recordOf(bucket, changed);
        unit.record('fileUpdated', { resource, payload });
        unit.announce('fileUpdated', { resource, data: announce, audience });
        // The right to change is none to read.
        const shown = isAllowed(where, bucket, changed, 'read') ? changed : withoutContent(changed);
        const answer = fileReply(bucket, shown);
        await idempotency.keep(unit, by.idempotent, 200, answer);
        return answer;
      }),
    remove: (where, by, id) =>
      db.work(by, async (unit) => {
        const bucket = await bucketIn(unit, where);
        await buckets.hold(unit, where.project.id);
        const file = await lock(unit, bucket.key, id);
        demandChangeable(where, bucket, file, 'delete');
        await removeFile(unit, where.project.id, bucket, file);
        await idempotency.keep(unit, by.idempotent, 204, undefined);
      }),
    eraseOf: async (by, projectId, userId) => {
      for (let erased = 0; ; ) {
        const rows = await db.work(by, async (unit) => {
          await buckets.hold(unit, projectId);
          const found = await unit.all(statements.ofCreator(projectId, userCreator(userId), erasedAtOnce));
          const printed: string[] = [];
          for (const row of found) {
            const bucket = { key: String(row.bucket_key), id: String(row.bucket_id) };
            const file = await unit.one(statements.lock(bucket.key, String(row.id)));
            if (file === undefined) continue;
            await removeFile(unit, projectId, bucket, files.decode(file));
            printed.push(beginOf(bucket, files.decode(file)));
          }
          await idempotency.forgetAnswers(unit, projectId, printed);
          return found.length;
        });
        erased += rows;
        if (rows < erasedAtOnce) return erased;
      }
    },
  };
}
