import { Failure } from '#src/contract/errors.js';
import { expandPermissions, requireOwnRoles } from '#src/contract/permissions.js';
import type { RawJson } from '#src/contract/raw-json.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Idempotency } from '../../installation/index.js';
import type { Bucket, Buckets } from '../buckets/index.js';
import { type BucketContext, isAllowed, requireChangeableFile, userCreator } from './model/access.js';
import { requireExtension, safeName } from './model/names.js';
import { fileRecordOf } from './model/record.js';
import type { FileChange, Files } from './model/service.js';
import { type FileRow, type FileStatements, files } from './model/store.js';
import { beginOf, fileReply, withoutContent } from './model/view.js';
import { removeRow } from './uploads/rows.js';

interface Deps {
  readonly db: Runtime['db'];
  readonly buckets: Buckets;
  readonly statements: FileStatements;
  readonly idempotency: Idempotency;
  /** Throws Failure `storage_bucket_not_found`. */
  readonly bucketIn: (reader: Reader, where: BucketContext) => Promise<Bucket>;
}

/** Files deleted per unit of an erasure. */
const erasedAtOnce = 100;

/** Changes of files. */
export function createFileWrites(
  { db }: Pick<Runtime, 'db'>,
  given: Omit<Deps, 'db'>,
): Pick<Files, 'update' | 'remove' | 'eraseOf'> {
  return bind({ ...given, db }, { update, remove, eraseOf });
}

function update(
  { db, statements, idempotency, bucketIn }: Deps,
  where: BucketContext,
  by: AuditContext,
  id: string,
  { name, permissions }: FileChange,
): Promise<RawJson> {
  return db.work(by, async (unit) => {
    const bucket = await bucketIn(unit, where);
    const file = await lock(statements, unit, bucket.key, id);
    requireChangeableFile(where, bucket, file, 'update');
    const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
    if (granted !== undefined) requireOwnRoles(granted, where.actor);
    if (name !== undefined) requireExtension(bucket, safeName(name));
    const change = {
      name: name === undefined ? file.name : safeName(name),
      permissions: granted ?? file.permissions,
      updatedAt: unit.now,
    };
    await unit.run(statements.update(bucket.key, id, change));
    const changed = { ...file, ...change };
    const { resource, payload, announce, audience } = fileRecordOf(bucket, changed);
    unit.record('fileUpdated', { resource, payload });
    unit.announce('fileUpdated', { resource, data: announce, audience });
    // The permission to update does not include reading.
    const shown = isAllowed(where, bucket, changed, 'read') ? changed : withoutContent(changed);
    const answer = fileReply(bucket, shown);
    await idempotency.keep(unit, by.idempotent, 200, answer);
    return answer;
  });
}

function remove(deps: Deps, where: BucketContext, by: AuditContext, id: string): Promise<void> {
  return deps.db.work(by, async (unit) => {
    const bucket = await deps.bucketIn(unit, where);
    await deps.buckets.hold(unit, where.project.id);
    const file = await lock(deps.statements, unit, bucket.key, id);
    requireChangeableFile(where, bucket, file, 'delete');
    await removeFile(deps, unit, bucket, file);
    await deps.idempotency.keep(unit, by.idempotent, 204, undefined);
  });
}

async function eraseOf(deps: Deps, by: AuditContext, projectId: string, userId: string): Promise<number> {
  const { db, buckets, statements, idempotency } = deps;
  for (let erased = 0; ; ) {
    const rows = await db.work(by, async (unit) => {
      await buckets.hold(unit, projectId);
      const found = await unit.all(statements.ofCreator(projectId, userCreator(userId), erasedAtOnce));
      const printed: string[] = [];
      for (const row of found) {
        const bucket = { key: String(row.bucket_key), id: String(row.bucket_id) };
        const file = await unit.one(statements.lock(bucket.key, String(row.id)));
        if (file === undefined) continue;
        await removeFile(deps, unit, bucket, files.decode(file));
        printed.push(beginOf(bucket, files.decode(file)));
      }
      await idempotency.forgetAnswers(unit, projectId, printed);
      return found.length;
    });
    erased += rows;
    if (rows < erasedAtOnce) return erased;
  }
}

/** Throws Failure `storage_file_not_found`. */
async function lock(statements: FileStatements, unit: Unit, bucketKey: string, id: string): Promise<FileRow> {
  const row = await unit.one(statements.lock(bucketKey, id));
  if (row === undefined) throw new Failure('storage_file_not_found');
  return files.decode(row);
}

async function removeFile(deps: Deps, unit: Unit, bucket: Pick<Bucket, 'id' | 'key'>, file: FileRow): Promise<void> {
  await removeRow(deps, unit, file);
  if (file.completedAt !== null) unit.record('fileDeleted', fileRecordOf(bucket, file));
}
