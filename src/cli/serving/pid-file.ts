import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { ConfigError } from '#src/platform/config/config-error.js';
import { errorCode } from '#src/platform/runtime/files.js';
import { isDiskFull, whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { unreachableError } from '../terminal/exit.js';

const line = `${process.pid}\n`;

/**
 * Writes the process id to a file atomically, so that readers never see an incomplete file. Throws CommandError `disk_full`, and
 * ConfigError if this user cannot write it.
 */
export function writePidFile(path: string): void {
  try {
    writeAtOnce(path, line);
  } catch (error) {
    // Temporary, so the exit code lets systemd restart the server.
    if (isDiskFull(error))
      throw unreachableError('disk_full', `The disk is full (${errorCode(error)}): ${path}`, 'make room on it');
    throw new ConfigError([`SVC_PIDFILE names ${path}, which cannot be written: ${whyUnwritable(error)}`]);
  }
}

/** Removes the file at exit, unless another process has overwritten it. Leaves it if this user may not remove it from the directory. */
export function removePidFile(path: string): void {
  try {
    if (isFile(path) && readFileSync(path, 'utf8') === line) rmSync(path);
  } catch {
    // The process exits in any case.
  }
}

function writeAtOnce(path: string, text: string): void {
  const fresh = `${path}.${process.pid}.part`;
  // A device or a pipe is written directly.
  if (isFile(path, true) && renamed(fresh, path, text)) return;
  writeFileSync(path, text);
}

/** Returns false if this user cannot write to the directory; the file itself may still be writable. */
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

/** True for a regular file; `otherwise` if nothing exists at the path. */
function isFile(path: string, otherwise = false): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? otherwise;
}
