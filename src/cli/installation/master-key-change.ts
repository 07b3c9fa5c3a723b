import { chownSync, constants, copyFileSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { MasterKey, MasterKeyFile } from '#src/platform/config/master-key.js';
import { copyOf, readMasterKey } from '#src/platform/config/master-key-file.js';
import { settings } from '#src/platform/config/schema.js';
import { errorCode, isAbsent } from '#src/platform/runtime/files.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { conflictError, notAllowedError, notFoundError, unusableError, usageError } from '../terminal/exit.js';
import { changeConfig, isWritable, replaceFile } from './config-file.js';
import { lockFile } from './lock-file.js';

/** The new master key in a file that holds it alone. Throws CommandError. */
export function newKeyIn(path: string): MasterKey {
  if (isAbsent(path)) throw notFoundError('file_not_found', `There is no file ${path}.`, 'correct the path');
  const found = readMasterKey({ path: resolve(path), form: 'value' });
  if (found !== undefined) return found;
  throw usageError(
    `${path} holds no master key.`,
    'name a file with 32 bytes in base64url, such as of: openssl rand 32 | basenc --base64url --wrap 0',
  );
}

/** Throws unless this user can replace the file of the master key. Exit 4. */
export function requireReplaceable({ path }: MasterKeyFile): void {
  if (isWritable(path)) return;
  const message = `The file of the master key, ${path}, or its directory ${dirname(path)}, cannot be written by this user.`;
  throw notAllowedError('file_not_writable', message, 'run the command as root');
}

/**
 * Locks the file of the master key and returns the function that unlocks it. Throws CommandError (exit 5) if another process has the lock.
 * Ignores the lock of a process that no longer runs.
 */
export function lockKeyFile({ path }: Pick<MasterKeyFile, 'path'>): () => void {
  return lockFile(`${path}.rotating`, (pid) => {
    const message = `The process ${pid} is replacing the master key.`;
    return conflictError('rotation_running', message, 'wait until it has ended');
  });
}

/** Puts the new key into the file. A copy keeps the old one until `forgetFormerKey`. */
export function replaceKey(file: MasterKeyFile, key: MasterKey): void {
  const { path, form } = file;
  const copy = copyOf(file).path;
  try {
    // An identical copy is left by a rotation that was killed right here.
    if (!isAbsent(copy) && readFileSync(copy).equals(readFileSync(path))) rmSync(copy);
    copyFileSync(path, copy, constants.COPYFILE_EXCL);
    const { uid, gid } = statSync(path);
    chownSync(copy, uid, gid);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') rmSync(copy, { force: true });
    const message = `${copy} cannot be made: ${errorCode(error) === 'EEXIST' ? 'it exists' : whyUnwritable(error)}.`;
    throw unusableError('file_not_writable', message, `move ${copy} away, then run this command again`);
  }
  if (form === 'settings') changeConfig(path, { [settings.masterKey.key]: key.reveal() });
  else replaceFile(path, `${key.reveal()}\n`);
}

/** Removes the copy with the old key. */
export function forgetFormerKey(file: MasterKeyFile): void {
  rmSync(copyOf(file).path, { force: true });
}
