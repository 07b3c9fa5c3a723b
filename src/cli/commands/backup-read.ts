import { BackupError, UnknownFormatError, UnknownSchemaError } from '#src/features/index.js';
import { decrypted, PassphraseError } from '#src/platform/archive/encryption.js';
import { DamagedArchiveError } from '#src/platform/archive/reader.js';
import { FileStoreError, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import type { ParsedArgs } from '../line/command.js';
import { readSecretFile } from '../line/input.js';
import { CommandError } from '../terminal/exit.js';
import type { BackupPlace } from './backup-place.js';

/** The flag with the passphrase of a backup. */
export const passphraseOption = {
  flag: '--passphrase-file',
  value: 'FILE',
  summary: 'file with the passphrase that encrypts the backup (age format)',
} as const;

/** Reads the passphrase; undefined if the flag is absent. Throws CommandError. */
export function passphraseOf(args: ParsedArgs): string | undefined {
  const file = args.text('--passphrase-file');
  return file === undefined ? undefined : readSecretFile(file, '--passphrase-file');
}

/** Reads a backup, decrypted. */
export async function* readBackup(
  { store, key }: BackupPlace,
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
    return new CommandError(
      'failed',
      'backup_damaged',
      `The backup ${shown} cannot be used: ${error.message}.`,
      'use another backup; svc backup list shows them',
    );
  if (error instanceof PassphraseError)
    return new CommandError(
      'notAllowed',
      'passphrase_wrong',
      `The backup ${shown} cannot be read. ${error.message}.`,
      'name the file with its passphrase with --passphrase-file FILE',
    );
  if (error instanceof UnknownFormatError || error instanceof UnknownSchemaError)
    return new CommandError(
      'unusable',
      'backup_newer',
      `The backup ${shown} cannot be used: ${error.message}.`,
      'install the version of svc that made it, or a later one',
    );
  if (error instanceof ObjectNotFoundError)
    return new CommandError('notFound', 'backup_not_found', `There is no backup ${shown}.`);
  if (error instanceof BackupError)
    return new CommandError('failed', 'backup_failed', `There is no backup: ${error.message}.`);
  if (error instanceof FileStoreError)
    return new CommandError(
      'unreachable',
      'backup_place_unusable',
      `${shown} cannot be read or written: ${whyUnwritable(error.reason)}.`,
      'correct it and run the command again',
    );
  return error;
}
