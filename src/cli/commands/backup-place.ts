import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type BackupPlace, backupKey, defaultLocation, openPlace } from '#src/features/index.js';
import { parseBackupPlace } from '#src/platform/config/backup-settings.js';
import type { FilesLocation } from '#src/platform/config/files-url.js';
import type { Config } from '#src/platform/config/schema.js';
import type { FileStore, Owner } from '#src/platform/file-store/index.js';
import { isAbsent } from '#src/platform/runtime/files.js';
import type { Log } from '#src/platform/runtime/log.js';
import { notFoundError, unusableError, usageError } from '../terminal/exit.js';

/** A backup in a directory or an S3 bucket. */
export interface BackupFile {
  readonly place: BackupPlace;
  readonly store: FileStore;
  readonly key: string;
  /** Path or URL of the backup. */
  readonly shown: string;
}

/** Opens places of backups. */
interface Deps {
  readonly config: Config;
  readonly log: Log;
}

/** Valid names of backups: keys of a file store without folders. */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** A new backup: FILE, or `name` in the directory or bucket that is given, by default the one of the settings. Throws CommandError. */
export function newBackup(given: string | undefined, name: string, deps: Deps): BackupFile {
  if (given === undefined) return fileIn(open(defaultLocation(deps.config), deps), name);
  if (given.startsWith('s3://')) return fileIn(openPlaceAt(given, deps), name);
  const isDirectory = given.endsWith('/') || statSync(given, { throwIfNoEntry: false })?.isDirectory();
  return isDirectory ? fileIn(openPlaceAt(resolve(given), deps), name) : existingBackup(resolve(given), deps);
}

/**
 * A backup that is named by its path, or by a URL that ends with its name. A name that is no file in the current directory is one in the place
 * of the settings. Throws CommandError.
 */
export function existingBackup(given: string, deps: Deps): BackupFile {
  if (given.startsWith('s3://')) {
    const [, place = '', key = '', query = ''] = /^(s3:\/\/[^?]+)\/([^/?]+)(\?.*)?$/.exec(given) ?? [];
    if (!nameForm.test(key)) throw usageError(`${given} names no backup.`, 'end the URL with its name');
    return fileIn(openPlaceAt(`${place}${query}`, deps), key);
  }
  const file = resolve(given);
  const key = basename(file);
  if (!nameForm.test(key))
    throw usageError(`${key} cannot be the name of a backup.`, 'use letters, digits, dots, underscores and hyphens');
  if (key === given && isAbsent(file)) return fileIn(open(defaultLocation(deps.config), deps), key);
  return fileIn(open({ kind: 'disk', directory: dirname(file) }, deps), key);
}

/** The bytes of a backup. Throws CommandError if there is none. */
export async function requireBackup({ store, key, shown }: BackupFile): Promise<number> {
  const size = await store.size(key);
  if (size === undefined) throw notFoundError('backup_not_found', `There is no backup ${shown}.`, 'svc backup list');
  return size;
}

/** A directory or bucket that the operator names, by default the one of the settings. Throws CommandError. */
export function openPlaceAt(given: string | undefined, deps: Deps): BackupPlace {
  if (given === undefined) return open(defaultLocation(deps.config), deps);
  const location = parseBackupPlace(given);
  if (location === undefined)
    throw usageError(
      `${given} is not a place for backups.`,
      'name a file, a directory with / at its end, or s3://BUCKET/PREFIX?endpoint=URL',
    );
  return open(location, deps);
}

function open(location: FilesLocation, { config, log }: Deps): BackupPlace {
  const { filesKeyId, filesSecret } = backupKey(config);
  if (location.kind === 's3' && (filesKeyId === undefined || filesSecret === undefined))
    throw unusableError(
      'backup_key_missing',
      'The key of the S3 service is not set.',
      'set SVC_BACKUP_KEY_ID and SVC_BACKUP_SECRET',
    );
  return openPlace(location, config, { log, owner: ownerOf(config.dataDir) });
}

function fileIn(place: BackupPlace, key: string): BackupFile {
  return { place, store: place.store, key, shown: place.fileOf(key) };
}

/** Owner of new files when running as root: the owner of the data directory, because the service must read them. */
export function ownerOf(dataDir: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const found = statSync(resolve(dataDir), { throwIfNoEntry: false });
  return found && { uid: found.uid, gid: found.gid };
}
