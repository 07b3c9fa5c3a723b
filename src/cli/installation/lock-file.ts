import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { errorCode } from '#src/platform/runtime/files.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { type CommandError, notAllowedError } from '../terminal/exit.js';

/**
 * Creates a file with the id of this process and returns the function that removes it. Throws the error of `taken` if another process has the
 * lock, and CommandError (exit 4) if the file cannot be made. Ignores the lock of a process that no longer runs.
 */
export function lockFile(lock: string, taken: (pid: number) => CommandError): () => void {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return () => rmSync(lock, { force: true });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') {
      const message = `${lock} cannot be made: ${whyUnwritable(error)}.`;
      throw notAllowedError('file_not_writable', message, 'run the command as root');
    }
  }
  const pid = Number(readFileSync(lock, 'utf8'));
  if (pid > 0 && processExists(pid)) throw taken(pid);
  rmSync(lock, { force: true });
  return lockFile(lock, taken);
}

/** True if this machine has a process with this id. */
export function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
