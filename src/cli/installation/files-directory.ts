import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '#src/platform/config/schema.js';
import { filesLocation } from '#src/platform/file-store/index.js';
import { isAbsent } from '#src/platform/runtime/files.js';

/** A directory of files that is not there, or empty, although the database knows files. */
interface LostDirectory {
  readonly message: string;
  readonly fix: string;
}

/**
 * Looks at the directory that should have the files of the database. A missing or empty one is usually not mounted or misconfigured, and no
 * file is lost. Undefined for other stores, and during a move, when most files may be in the other store.
 */
export function lostFilesDirectory(config: Config): LostDirectory | undefined {
  const location = filesLocation(config.filesUrl, config);
  if (location.kind !== 'disk' || config.filesFrom !== undefined) return undefined;
  const directory = resolve(location.directory);
  const state = isAbsent(directory) ? 'does not exist' : readdirSync(directory).length === 0 ? 'is empty' : undefined;
  if (state === undefined) return undefined;
  const setting = config.filesUrl === undefined ? 'SVC_DATA_DIR' : 'SVC_FILES_URL';
  return {
    message: `The directory ${directory}, where ${setting} has the files, ${state}, but the database knows files.`,
    fix: `mount the directory, correct ${setting}, or restore it from a backup`,
  };
}
