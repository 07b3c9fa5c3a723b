import { chmodSync, copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '#src/platform/runtime/package-root.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { CommandError, usageError } from '../terminal/exit.js';

/** Creates a directory that only its owner can read, or uses an empty one. Throws CommandError for one with files. */
export function openDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (readdirSync(directory).length > 0)
      throw usageError(`${directory} has files in it.`, 'name a new or an empty directory');
    chmodSync(directory, 0o700);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const message = `${directory} cannot be written: ${whyUnwritable(error)}.`;
    throw new CommandError('failed', 'file_not_written', message, 'name a directory that can be written');
  }
}

/** Copies the program that sends the export, and its description. */
export function copyProgram(directory: string): void {
  for (const name of ['send.mjs', 'README.md']) {
    copyFileSync(packageFile(`templates/export/appwrite/${name}`), join(directory, name));
    chmodSync(join(directory, name), 0o600);
  }
}
