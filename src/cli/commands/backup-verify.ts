import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAppliance } from '#src/appliance.js';
import { createBackups, type LoadedBackup, restoreBackup } from '#src/features/index.js';
import { DamagedArchiveError, entriesOf } from '#src/platform/archive/reader.js';
import type { Config } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { fingerprintOf } from '#src/platform/crypto/key-ring.js';
import { createRuntime } from '#src/platform/index.js';
import { forCommand, operatorContext } from '../installation/run-command.js';
import { type CommandResult, command } from '../line/command.js';
import { count } from '../terminal/count.js';
import { exitCodes } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { type BackupFile, existingBackup, requireBackup } from './backup-place.js';
import { explained, passphraseOf, passphraseOption, readBackup } from './backup-read.js';

/** `svc backup verify` */
export const backupVerify = command({
  path: 'backup verify',
  summary:
    'Restores a backup into a temporary database, compares every digest and verifies the audit log. Exit code 1 if something is wrong',
  arguments: [{ name: 'FILE', summary: 'the backup: its path, its URL in an S3 bucket, or its name in SVC_BACKUP_TO' }],
  options: [passphraseOption],
  examples: ['svc backup verify backups/svc.tar', 'svc backup verify backups/svc.tar --json'],
  needs: 'database',
  worksWithoutDatabase: true,
  run: async ({ args, loaded, runtime: own, output }): Promise<CommandResult> => {
    const { log, sealing } = own;
    const place = existingBackup(args.argument('FILE'), { config: loaded.config, log });
    const passphrase = passphraseOf(args, loaded.config);
    const directory = mkdtempSync(join(tmpdir(), 'svc-verify-'));
    const config: Config = {
      ...forCommand(loaded.config, output),
      databaseUrl: new Secret(`sqlite:${join(directory, 'svc.db')}`),
    };
    try {
      return await explained(place.shown, async () => {
        const bytes = await requireBackup(place);
        const runtime = await createRuntime(config, { silentDatabase: true });
        let loadedBackup: LoadedBackup;
        try {
          loadedBackup = await restoreBackup(runtime, readBackup(place, passphrase), {
            replaces: false,
            endsSessions: false,
            file: discard,
          });
        } catch (error) {
          const damage = error instanceof DamagedArchiveError ? error : await damageOf(place, passphrase);
          if (damage === undefined) throw error;
          return failed(place.shown, [damage.message]);
        } finally {
          await runtime.close();
          await place.store.close();
        }
        const { head, manifest } = loadedBackup;
        const isOwn = head.masterKey === null || head.masterKey === fingerprintOf(sealing.keyCheck());
        if (!isOwn)
          output.note(
            `The backup needs the master key with the fingerprint ${head.masterKey}, and the settings have another one: the audit log was not verified, and it cannot be restored with these settings.`,
          );
        const problems = isOwn ? await auditProblems(config) : [];
        if (problems.length > 0) return failed(place.shown, problems);
        const by = operatorContext({ runtime: own }, null);
        await createBackups(own).verified(by, { file: place.shown, createdAt: head.createdAt, bytes });
        const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
        const text = `${place.shown} is whole: ${count(rows, 'row')}, ${count(manifest.files.count, 'file')}, made ${head.createdAt}.`;
        return {
          value: { ok: true, problems, createdAt: head.createdAt, auditVerified: isOwn, masterKey: head.masterKey },
          text,
        };
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});

/** The damage of a backup that could not be loaded; undefined if its bytes are those that were written. */
async function damageOf(place: BackupFile, passphrase: string | undefined): Promise<DamagedArchiveError | undefined> {
  try {
    for await (const { bytes } of entriesOf(readBackup(place, passphrase))) for await (const _ of bytes);
    return undefined;
  } catch (error) {
    return error instanceof DamagedArchiveError ? error : undefined;
  }
}

function failed(shown: string, problems: readonly string[]): CommandResult {
  return {
    value: { ok: false, problems },
    text: Lines.text([`${shown} cannot be used:`, ...problems].join('\n')),
    exitCode: exitCodes.failed,
  };
}

async function discard(_key: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes);
}

/** Problems in the audit log of a restored database. */
async function auditProblems(config: Config): Promise<string[]> {
  const appliance = await createAppliance(config, { silentDatabase: true });
  try {
    await appliance.features.masterKey.other(appliance.runtime.db);
    const { findings } = await appliance.features.audit.verify(undefined);
    return findings.map(({ seq, problem }) => `audit entry ${seq ?? '?'}: ${problem}`);
  } finally {
    await appliance.close();
  }
}
