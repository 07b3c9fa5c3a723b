import { accessSync, constants, mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { errorCode, isAbsent } from '#src/platform/runtime/files.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { unusableError } from '../terminal/exit.js';
import { requireNoLog } from './installation.js';

/**
 * Creates the directories for the data and the SQLite file with mode 0700. Returns a function that removes the directories it created.
 * Throws CommandError, also if the log of a missing SQLite database exists, because then no new database may be created.
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
      throw unusableError('directory_unusable', message, 'correct SVC_DATA_DIR or its permissions');
    }
  }
  return remove;
}

/** Explains why a directory cannot be used for data; undefined if it can. Removes the directories it creates. */
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
 * Creates a directory and its missing parents, and lists them from the top. Does not use the `recursive` option of mkdir: it never returns
 * if the system reports ENOENT for an existing directory, as for /proc.
 */
function createDirectory(directory: string): string[] {
  const missing: string[] = [];
  for (let path = resolve(directory); isAbsent(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) mkdirSync(path, { mode: 0o700 });
  return missing;
}
