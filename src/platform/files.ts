import { statSync } from 'node:fs';

/** Whether there is no file of a path. One that exists and may not be looked at is not absent: opening it says why. */
export function isAbsent(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(error));
  }
}

/** The code of an error of the system, such as `EACCES`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
