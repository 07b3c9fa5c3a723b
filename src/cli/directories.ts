import { accessSync, constants, mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { errorCode, isAbsent } from '#src/platform/files.js';
import { whyUnwritable } from '#src/platform/system-errors.js';
import { CommandError } from './exit.js';
import { requireNoLog } from './installation.js';

/**
 * Creates the directories of the data and of the SQLite file, for the owner only. Returns what removes those that it created. Throws CommandError,
 * also where no database may be made in them because the log of one is there.
 */
export function prepareDirectories(config: Config): () => void {
  requireNoLog(config);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const created: string[] = [];
  const remove = () => {
    for (const directory of created) rmSync(directory, { recursive: true, force: true });
  };
  for (const directory of [config.dataDir, ...(file === null ? [] : [dirname(file)])]) {
    try {
      created.push(...createDirectory(directory));
    } catch (error) {
      remove();
      const message = `The directory ${directory} cannot be created: ${whyUnwritable(error)}.`;
      throw new CommandError('unusable', 'directory_unusable', message, 'correct SVC_DATA_DIR or its permissions');
    }
  }
  return remove;
}

/** Why a directory cannot be used for data; undefined where it can. Leaves nothing behind. */
export function directoryProblem(directory: string): string | undefined {
  try {
    const created = createDirectory(directory);
    for (const one of created.reverse()) rmdirSync(one);
    if (created.length > 0) return undefined;
    if (!statSync(directory).isDirectory()) return `${directory} is not a directory`;
    accessSync(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const verb = errorCode(error) === 'EACCES' ? 'written to' : 'created';
    return `The directory ${directory} cannot be ${verb}: ${whyUnwritable(error)}`;
  }
}

/**
 * Creates a directory and those above it that are missing, and names them from the top. Not by the option `recursive` of mkdir, which does not
 * come back where the system answers ENOENT for a directory that exists, as it does for /proc.
 */
function createDirectory(directory: string): string[] {
  const missing: string[] = [];
  for (let path = resolve(directory); isAbsent(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) mkdirSync(path, { mode: 0o700 });
  return missing;
}
