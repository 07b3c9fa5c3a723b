import { type Stats, statSync } from 'node:fs';
import { whyUnreadable } from '#src/platform/runtime/system-errors.js';
import { CommandError } from '../terminal/exit.js';

/** Finds a file or directory. Returns undefined if there is none, or if the path leads through a file. Throws CommandError if it cannot be read. */
export function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    const problem = `${path} cannot be read: ${whyUnreadable(error)}.`;
    throw new CommandError('notFound', 'file_not_found', problem, 'check the path and its permissions');
  }
}
