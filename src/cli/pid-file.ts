import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { ConfigError } from '#src/platform/config/config-error.js';
import { errorCode } from '#src/platform/files.js';
import { isDiskFull, whyUnwritable } from '#src/platform/system-errors.js';
import { CommandError } from './exit.js';

const line = `${process.pid}\n`;

/**
 * Writes the process id into a file. It is there with its content at once, so that whoever finds the file can send a signal. Throws
 * CommandError `disk_full`, and ConfigError where this user cannot write it.
 */
export function writePidFile(path: string): void {
  try {
    writeAtOnce(path, line);
  } catch (error) {
    // That passes, so the unit starts the server again.
    if (isDiskFull(error))
      throw new CommandError(
        'unreachable',
        'disk_full',
        `The disk is full (${errorCode(error)}): ${path}`,
        'make room on it',
      );
    throw new ConfigError([`SVC_PIDFILE names ${path}, which cannot be written: ${whyUnwritable(error)}`]);
  }
}

/** Removes it when the process ends, unless another process wrote its own into it since. One in a directory of somebody else stays. */
export function removePidFile(path: string): void {
  try {
    if (isFile(path) && readFileSync(path, 'utf8') === line) rmSync(path);
  } catch {
    // The process ends all the same.
  }
}

function writeAtOnce(path: string, text: string): void {
  const fresh = `${path}.${process.pid}.part`;
  // A device or a pipe is written as it is.
  if (isFile(path, true) && renamed(fresh, path, text)) return;
  writeFileSync(path, text);
}

/** False where this user may not write into the directory: the file itself may be this user's. */
function renamed(fresh: string, path: string, text: string): boolean {
  try {
    writeFileSync(fresh, text);
    renameSync(fresh, path);
    return true;
  } catch (error) {
    rmSync(fresh, { force: true });
    if (errorCode(error) === 'EACCES') return false;
    throw error;
  }
}

/** Whether a path names a regular file; `otherwise` is the answer where nothing is there. */
function isFile(path: string, otherwise = false): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? otherwise;
}
