import { errorCode } from '#src/platform/runtime/files.js';

/** True if this machine has a process with this id. */
export function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
