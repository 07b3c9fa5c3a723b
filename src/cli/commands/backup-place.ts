import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { parseFilesUrl } from '#src/platform/config/files-url.js';
import type { Config } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { type FileStore, type Owner, openFileStoreAt } from '#src/platform/file-store/index.js';
import type { Log } from '#src/platform/runtime/log.js';
import { CommandError, usageError } from '../terminal/exit.js';

/** A backup in a directory or an S3 bucket. */
export interface BackupPlace {
  readonly store: FileStore;
  readonly key: string;
  /** Path or URL of the backup. */
  readonly shown: string;
}

/** Opens stores for backups. */
interface Deps {
  readonly config: Config;
  readonly log: Log;
}

/** Valid names of backups: keys of a file store without folders. */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The directory of backups, unless another place is given. */
export function defaultPlace({ dataDir }: Pick<Config, 'dataDir'>): string {
  return `${resolve(dataDir, 'backups')}/`;
}

/** A new backup: FILE, or `name` in the directory or bucket that is given. Throws CommandError. */
export function newPlace(given: string, name: string, deps: Deps): BackupPlace {
  if (given.startsWith('s3://')) return { ...openStore(given, deps), key: name, shown: inBucket(given, name) };
  const isDirectory = given.endsWith('/') || isExistingDirectory(given);
  const file = resolve(isDirectory ? `${given}/${name}` : given);
  return existingPlace(file, deps);
}

/** A backup that is named by its path, or by a URL that ends with its name. Throws CommandError. */
export function existingPlace(given: string, deps: Deps): BackupPlace {
  if (given.startsWith('s3://')) {
    const [, place = '', key = '', query = ''] = /^(s3:\/\/[^?]+)\/([^/?]+)(\?.*)?$/.exec(given) ?? [];
    if (!nameForm.test(key)) throw usageError(`${given} names no backup.`, 'end the URL with its name');
    return { ...openStore(`${place}${query}`, deps), key, shown: given };
  }
  const file = resolve(given);
  const key = basename(file);
  if (!nameForm.test(key))
    throw usageError(`${key} cannot be the name of a backup.`, 'use letters, digits, dots, underscores and hyphens');
  return { ...openStore(`file:${dirname(file)}`, deps), key, shown: file };
}

/** The bytes of a backup. Throws CommandError if there is none. */
export async function requireBackup({ store, key, shown }: BackupPlace): Promise<number> {
  const size = await store.size(key);
  if (size === undefined) throw new CommandError('notFound', 'backup_not_found', `There is no backup ${shown}.`);
  return size;
}

/** Opens the store of a directory or bucket. Throws CommandError. */
export function openStore(url: string, { config, log }: Deps): { readonly store: FileStore } {
  if (parseFilesUrl(url) === undefined)
    throw usageError(
      `${url} is not a place for backups.`,
      'name a file, a directory with / at its end, or s3://BUCKET/PREFIX',
    );
  if (url.startsWith('s3:') && (config.filesKeyId === undefined || config.filesSecret === undefined))
    throw new CommandError(
      'unusable',
      'backup_key_missing',
      'The key of the S3 service is not set.',
      'set SVC_FILES_KEY_ID and SVC_FILES_SECRET',
    );
  return { store: openFileStoreAt(new Secret(url), config, { log, owner: ownerOf(config.dataDir) }) };
}

function inBucket(url: string, name: string): string {
  const [place = '', query] = url.split('?');
  return `${place.replace(/\/$/, '')}/${name}${query === undefined ? '' : `?${query}`}`;
}

function isExistingDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Owner of new files when running as root: the owner of the data directory, because the service must read them. */
export function ownerOf(dataDir: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const found = statSync(resolve(dataDir), { throwIfNoEntry: false });
  return found && { uid: found.uid, gid: found.gid };
}
