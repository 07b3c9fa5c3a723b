import { type Stats, statSync } from 'node:fs';
import { fileNotRead } from '../line/input.js';

/** Finds a file or directory. Returns undefined if there is none, or if the path leads through a file. Throws CommandError if it cannot be read. */
export function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw fileNotRead(path, error);
  }
}
