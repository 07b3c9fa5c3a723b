import { BackupError, UnknownFormatError, UnknownSchemaError } from '#src/features/index.js';
import { decrypted, PassphraseError } from '#src/platform/archive/encryption.js';
import { DamagedArchiveError } from '#src/platform/archive/reader.js';
import type { Config } from '#src/platform/config/schema.js';
import { FileStoreError, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import type { ParsedArgs } from '../line/command.js';
import { readSecretFile } from '../line/input.js';
import {
  type CommandError,
  conflictError,
  failedError,
  notAllowedError,
  notFoundError,
  unreachableError,
  unusableError,
  usageError,
} from '../terminal/exit.js';
import type { BackupFile } from './backup-place.js';

/** The flag with the passphrase of a backup. */
export const passphraseOption = {
  flag: '--passphrase-file',
  value: 'FILE',
  summary: 'file with the passphrase that encrypts the backup (age format; default: SVC_BACKUP_PASSPHRASE)',
} as const;

/** Reads the passphrase of the flag, else that of the settings. Throws CommandError. */
export function passphraseOf(args: ParsedArgs, { backupPassphrase }: Config): string | undefined {
  const file = args.text('--passphrase-file');
  if (file === undefined) return backupPassphrase?.reveal();
  const passphrase = readSecretFile(file, '--passphrase-file').trim();
  if (passphrase === '') throw usageError(`--passphrase-file ${file} is empty.`, 'write the passphrase into it');
  return passphrase;
}

/** Reads a backup, decrypted. */
export async function* readBackup(
  { store, key }: BackupFile,
  passphrase: string | undefined,
): AsyncGenerator<Uint8Array> {
  yield* decrypted(await store.read(key), passphrase);
}

/** Runs a body. Converts errors about the backup to CommandError. */
export async function explained<T>(shown: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw explanationOf(shown, error);
  }
}

function explanationOf(shown: string, error: unknown): unknown {
  if (error instanceof DamagedArchiveError)
    return failedError(
      'backup_damaged',
      `The backup ${shown} cannot be used: ${error.message}.`,
      'use another backup; svc backup list shows them',
    );
  if (error instanceof PassphraseError)
    return notAllowedError(
      'passphrase_wrong',
      `The backup ${shown} cannot be read. ${error.message}.`,
      'name the file with its passphrase with --passphrase-file FILE',
    );
  if (error instanceof UnknownFormatError || error instanceof UnknownSchemaError)
    return unusableError(
      'backup_newer',
      `The backup ${shown} cannot be used: ${error.message}.`,
      'install the version of svc that made it, or a later one',
    );
  if (error instanceof ObjectNotFoundError) return notFoundError('backup_not_found', `There is no backup ${shown}.`);
  if (error instanceof BackupError) return failedError('backup_failed', `There is no backup: ${error.message}.`);
  if (error instanceof FileStoreError && error.code === 'EEXIST') return existsAlready(shown);
  if (error instanceof FileStoreError)
    return unreachableError(
      'backup_place_unusable',
      `${shown} cannot be read or written: ${whyUnwritable(error.reason)}.`,
      'correct it and run the command again',
    );
  return error;
}

/** Error for a new backup whose name is taken. */
export function existsAlready(shown: string): CommandError {
  return conflictError('backup_exists', `${shown} exists already.`, 'name another file');
}
