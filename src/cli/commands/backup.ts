import { backupArchive, createBackups, type MadeBackup, newBackupName, removeRemains } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { requireDatabase } from '../installation/installation.js';
import { operatorContext, requireCurrentSchema } from '../installation/run-command.js';
import { type CommandResult, command } from '../line/command.js';
import { count } from '../terminal/count.js';
import { shellWord } from '../terminal/exit.js';
import { writeOut } from '../terminal/output.js';
import { createProgress, type Progress } from '../terminal/progress.js';
import { columns } from '../terminal/table.js';
import { type BackupFile, newBackup, openPlaceAt } from './backup-place.js';
import { existsAlready, explained, passphraseOf, passphraseOption } from './backup-read.js';
import { backupRestore } from './backup-restore.js';
import { backupVerify } from './backup-verify.js';

const create = command({
  path: 'backup create',
  summary:
    'Backs up the database, the files and the settings without secrets while the service runs. Back up the master key yourself',
  arguments: [
    {
      name: 'PLACE',
      summary:
        'a file, a directory, s3://BUCKET/PREFIX, or - for stdout (default: SVC_BACKUP_TO, else backups in the data directory)',
      optional: true,
    },
  ],
  options: [passphraseOption],
  examples: ['svc backup create', 'svc backup create backups/svc.tar --json'],
  needs: 'database',
  run: async ({ args, loaded: { config }, runtime: opened, output }): Promise<CommandResult | undefined> => {
    // The archive gets the settings of the installation. Those of the runtime have another log level and format.
    const runtime = { ...opened, config };
    requireDatabase(config);
    requireCurrentSchema(await runtime.migrator.status());
    const given = args.optionalArgument('PLACE');
    const passphrase = passphraseOf(args, config);
    const progress = createProgress(output);
    if (given === '-') {
      await explained('on stdout', async () => {
        for await (const piece of written(runtime, { passphrase, progress }, () => {})) await writeOut(piece);
      });
      return undefined;
    }
    const { shown, made } = await backUp(runtime, { given, passphrase, progress });
    return resultOf(shown, made);
  },
});

interface Writing {
  readonly passphrase: string | undefined;
  readonly progress: Progress;
}

function written(
  runtime: Runtime,
  { passphrase, progress }: Writing,
  done: (made: MadeBackup) => void,
  at = runtime.clock.now(),
) {
  const options = {
    at: new Date(at),
    by: operatorContext({ runtime }, null),
    passphrase,
    onProgress: (note: string) => progress.show(note),
  };
  return backupArchive(runtime, options, done);
}

/** Names that are tried for a backup, if others were made in the same second. */
const mostSeconds = 60;

/** Makes a backup in a place, by default that of the settings. Returns its path or URL too. Throws CommandError. */
export async function backUp(
  runtime: Runtime,
  { given, ...writing }: Writing & { readonly given?: string | undefined },
): Promise<{ readonly shown: string; readonly made: MadeBackup }> {
  const { config, log } = runtime;
  const at = runtime.clock.now();
  let made: MadeBackup | undefined;
  const bytes = written(
    runtime,
    writing,
    (whole) => {
      made = whole;
    },
    at,
  );
  const isEncrypted = writing.passphrase !== undefined;
  const free = async (second: number): Promise<BackupFile> => {
    const name = newBackupName(second, isEncrypted);
    const backup = newBackup(given, name, { config, log });
    return explained(backup.shown, async () => {
      if ((await backup.store.size(backup.key)) === undefined) return backup;
      await backup.store.close();
      // Another backup of the same second; only a name that the operator gave is refused.
      if (backup.key === name && second < at + mostSeconds * 1000) return free(second + 1000);
      throw existsAlready(backup.shown);
    });
  };
  const { place, store, key, shown } = await free(at);
  return explained(shown, async () => {
    await removeRemains(place, at);
    await store.write(key, bytes, { isNew: true });
    const backups = createBackups(runtime);
    const gone = await backups.missing(place);
    await store.close();
    writing.progress.clear();
    if (made === undefined) throw new TypeError('the archive was not read to its end');
    const backup = { file: shown, createdAt: instantOf(at), bytes: made.bytes };
    const by = operatorContext({ runtime }, null);
    await backups.add(by, backup);
    // The operator knows the place. `svc doctor` names these until then.
    for (const file of gone) await backups.remove(by, file);
    return { shown, made };
  });
}

const list = command({
  path: 'backup list',
  summary: 'Lists the backups of a directory or bucket, the newest first, and when each was verified',
  options: [
    {
      flag: '--from',
      value: 'PLACE',
      summary: 'the directory or s3://BUCKET/PREFIX (default: SVC_BACKUP_TO, else backups in the data directory)',
    },
  ],
  examples: ['svc backup list', 'svc backup list --json'],
  needs: 'database',
  worksWithoutDatabase: true,
  run: async ({ args, loaded: { config }, runtime }): Promise<CommandResult> => {
    const from = args.text('--from');
    const place = openPlaceAt(from, { config, log: runtime.log });
    return explained(from ?? place.fileOf(''), async () => {
      const found = await createBackups(runtime).list(place);
      await place.store.close();
      const backups = found.map(({ file, createdAt, bytes, verifiedAt }) => ({ file, createdAt, bytes, verifiedAt }));
      const rows = found.map(({ name, createdAt, bytes, verifiedAt }) => [
        name,
        createdAt,
        String(bytes),
        verifiedAt ?? '-',
      ]);
      return {
        value: { backups },
        text: columns(['NAME', 'CREATED', 'BYTES', 'VERIFIED'], rows, { whole: ['NAME'] }),
      };
    });
  },
});

/** `svc backup …` */
export const backupCommands = [create, backupVerify, backupRestore, list];

function resultOf(file: string, { bytes, sha256, tables, files, schema, masterKey }: MadeBackup): CommandResult {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return {
    value: { file, bytes, sha256, tables, files: files.count, schema, masterKey },
    text: `${file}: ${count(rows, 'row')}, ${count(files.count, 'file')}, ${count(bytes, 'byte')}`,
    next: `svc backup verify ${shellWord(file)}`,
  };
}
