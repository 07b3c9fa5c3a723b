import { join, resolve } from 'node:path';
import { parseBackupPlace } from '#src/platform/config/backup-settings.js';
import type { FilesLocation } from '#src/platform/config/files-url.js';
import type { Config } from '#src/platform/config/schema.js';
import { type FileStore, type Owner, openLocation } from '#src/platform/file-store/index.js';
import type { Log } from '#src/platform/runtime/log.js';

/** A directory or bucket with backups. */
export interface BackupPlace {
  readonly store: FileStore;
  /** The path or URL of a backup, in the same form for every spelling of the place. */
  fileOf(key: string): string;
}

type PlaceConfig = Pick<Config, 'dataDir' | 'filesKeyId' | 'filesSecret' | 'backupKeyId' | 'backupSecret'>;

/** Dependencies of places. */
interface Deps {
  readonly log: Pick<Log, 'error' | 'warn'>;
  /** Owner of new files, if not the user of this process. */
  readonly owner?: Owner | undefined;
}

/** S3 takes 10,000 parts: 320 GB. */
const partBytes = 32 * 1024 * 1024;

/** The place of backups that no command names: `SVC_BACKUP_TO`, else `backups` in the data directory. */
export function defaultLocation({ backupTo, dataDir }: Pick<Config, 'backupTo' | 'dataDir'>): FilesLocation {
  return (
    (backupTo === undefined ? undefined : parseBackupPlace(backupTo)) ?? {
      kind: 'disk',
      directory: resolve(dataDir, 'backups'),
    }
  );
}

/** The access key for backups in S3: their own, else that of the files. */
export function backupKey(config: PlaceConfig): Pick<Config, 'filesKeyId' | 'filesSecret'> {
  const { backupKeyId, backupSecret, filesKeyId, filesSecret } = config;
  return backupKeyId === undefined
    ? { filesKeyId, filesSecret }
    : { filesKeyId: backupKeyId, filesSecret: backupSecret };
}

/** Opens a place. Nothing is created or connected before the first use. */
export function openPlace(location: FilesLocation, config: PlaceConfig, deps: Deps): BackupPlace {
  const store = openLocation(location, { dataDir: config.dataDir, ...backupKey(config) }, { ...deps, partBytes });
  return { store, fileOf: (key) => fileOf(location, key) };
}

function fileOf(location: FilesLocation, key: string): string {
  if (location.kind === 'disk') return join(resolve(location.directory), key);
  const { bucket, prefix, endpoint, region, pathStyle } = location;
  const parameters = [
    ...(endpoint === null ? [] : [`endpoint=${encodeURIComponent(endpoint)}`]),
    ...(region === 'us-east-1' ? [] : [`region=${region}`]),
    ...(pathStyle === (endpoint !== null) ? [] : [`pathStyle=${pathStyle}`]),
  ];
  return `s3://${bucket}/${prefix}${key}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`;
}
