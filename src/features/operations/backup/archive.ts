import { createHash } from 'node:crypto';
import { encrypted } from '#src/platform/archive/encryption.js';
import { archiveOf } from '#src/platform/archive/writer.js';
import { givenSettings } from '#src/platform/config/given-settings.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { filesLocation } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { version } from '#src/platform/runtime/version.js';
import { type BackupSummary, backupEntries } from './create.js';

/** A whole backup. */
export interface MadeBackup extends BackupSummary {
  readonly bytes: number;
  readonly sha256: string;
}

/** Options of an archive. */
interface ArchiveOptions {
  readonly at: Date;
  readonly by: AuditContext;
  /** Encrypts the archive. */
  readonly passphrase: string | undefined;
  /** Called after each table and each thousand files. */
  onProgress(note: string): void;
}

type ArchiveRuntime = Parameters<typeof backupEntries>[0] & Pick<Runtime, 'config'>;

/** The bytes of a new backup. `done` is called after the last one. Throws BackupError, DatabaseError and FileStoreError. */
export async function* backupArchive(
  runtime: ArchiveRuntime,
  { at, by, passphrase, onProgress }: ArchiveOptions,
  done: (made: MadeBackup) => void,
): AsyncGenerator<Uint8Array> {
  const { config } = runtime;
  const options = {
    version: version(),
    createdAt: at.toISOString(),
    by,
    settings: givenSettings(config),
    hasFiles: filesLocation(config.filesUrl, config).kind === 'disk',
    onProgress,
  };
  let summary: BackupSummary | undefined;
  const entries = backupEntries(runtime, options, (found) => {
    summary = found;
  });
  const archive = archiveOf(entries, at);
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const piece of passphrase === undefined ? archive : encrypted(archive, passphrase)) {
    digest.update(piece);
    bytes += piece.length;
    yield piece;
  }
  if (summary === undefined) throw new TypeError('the archive ended before its entries');
  done({ ...summary, bytes, sha256: digest.digest('hex') });
}
