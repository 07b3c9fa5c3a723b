import { createHash } from 'node:crypto';
import { type BackupSummary, backupEntries } from '#src/features/index.js';
import { encrypted } from '#src/platform/archive/encryption.js';
import { archiveOf } from '#src/platform/archive/writer.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { type Config, type Setting, settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { filesLocation } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { version } from '#src/platform/runtime/version.js';
import { requireDatabase } from '../installation/installation.js';
import { requireCurrentSchema } from '../installation/run-command.js';
import { command } from '../line/command.js';
import type { CommandResult } from '../terminal/command-result.js';
import { count } from '../terminal/count.js';
import { CommandError } from '../terminal/exit.js';
import { createProgress, type Progress } from '../terminal/progress.js';
import { writeOut } from '../terminal/stream.js';
import { columns } from '../terminal/table.js';
import { defaultPlace, newPlace, openStore } from './backup-place.js';
import { explained, passphraseOf, passphraseOption } from './backup-read.js';
import { backupRestore } from './backup-restore.js';
import { backupVerify } from './backup-verify.js';

const create = command({
  path: 'backup create',
  summary:
    'Backs up the database, the files and the settings without secrets while the service runs. Back up the master key yourself',
  arguments: [
    {
      name: 'PLACE',
      summary: 'a file, a directory, s3://BUCKET/PREFIX, or - for stdout (default: backups in the data directory)',
      optional: true,
    },
  ],
  options: [passphraseOption],
  examples: ['svc backup create', 'svc backup create backups/svc.tar --json'],
  needs: 'database',
  run: async ({ args, loaded, runtime, output }): Promise<CommandResult | undefined> => {
    requireDatabase(loaded.config);
    requireCurrentSchema(await runtime.migrator.status());
    const given = args.optionalArgument('PLACE');
    const passphrase = passphraseOf(args);
    const progress = createProgress(output);
    const at = new Date(runtime.clock.now());
    const made: Made = { bytes: 0, sha256: '' };
    const bytes = written(loaded, runtime, { at, passphrase, progress, made });
    if (given === '-') {
      await explained('on stdout', () => toStdout(bytes));
      return undefined;
    }
    const name = `svc-${instantOf(at.getTime()).slice(0, 19).replaceAll(':', '-')}Z.tar${passphrase === undefined ? '' : '.age'}`;
    const { store, key, shown } = newPlace(given ?? defaultPlace(loaded.config), name, {
      config: loaded.config,
      log: runtime.log,
    });
    return explained(shown, async () => {
      if ((await store.size(key)) !== undefined)
        throw new CommandError('conflict', 'backup_exists', `${shown} exists already.`, 'name another file');
      await store.write(key, bytes);
      await store.close();
      progress.clear();
      return resultOf(shown, made);
    });
  },
});

const list = command({
  path: 'backup list',
  summary: 'Lists the backups of a directory or bucket, the newest first',
  options: [
    {
      flag: '--from',
      value: 'PLACE',
      summary: 'the directory or s3://BUCKET/PREFIX (default: backups in the data directory)',
    },
  ],
  examples: ['svc backup list', 'svc backup list --json'],
  needs: 'database',
  run: async ({ args, loaded, runtime }): Promise<CommandResult> => {
    const from = args.text('--from') ?? defaultPlace(loaded.config);
    const url = from.startsWith('s3://') ? from : `file:${from}`;
    const { store } = openStore(url, { config: loaded.config, log: runtime.log });
    return explained(from, async () => {
      const found: { file: string; createdAt: string; bytes: number }[] = [];
      for await (const { key, size, modifiedAt } of store.list(''))
        if (/\.tar(\.age)?$/.test(key)) found.push({ file: key, createdAt: instantOf(modifiedAt), bytes: size });
      await store.close();
      found.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
      const rows = found.map(({ file, createdAt, bytes }) => [file, createdAt, String(bytes)]);
      return { value: { backups: found }, text: columns(['FILE', 'CREATED', 'BYTES'], rows) };
    });
  },
});

/** `svc backup …` */
export const backupCommands = [create, backupVerify, backupRestore, list];

/** Size, digest and contents of the written backup; complete after its last byte. */
interface Made {
  bytes: number;
  sha256: string;
  summary?: BackupSummary;
}

interface Writing {
  readonly at: Date;
  readonly passphrase: string | undefined;
  readonly progress: Progress;
  readonly made: Made;
}

/** The bytes of a new backup. */
async function* written(
  { config, origins }: LoadedConfig,
  runtime: Runtime,
  { at, passphrase, progress, made }: Writing,
): AsyncGenerator<Uint8Array> {
  const options = {
    version: version(),
    createdAt: at.toISOString(),
    by: { projectId: null, actor: { kind: 'operator', id: 'cli' }, requestId: runtime.random.id() },
    settings: settingsOf(config, origins),
    hasFiles: filesLocation(config.filesUrl, config).kind === 'disk',
    onProgress: (note: string) => progress.show(note),
  };
  const entries = backupEntries(runtime, options, (summary) => {
    made.summary = summary;
  });
  const archive = archiveOf(entries, at);
  const digest = createHash('sha256');
  for await (const piece of passphrase === undefined ? archive : encrypted(archive, passphrase)) {
    digest.update(piece);
    made.bytes += piece.length;
    yield piece;
  }
  made.sha256 = digest.digest('hex');
}

function settingsOf(config: Config, origins: LoadedConfig['origins']): Record<string, string> {
  const entries = Object.entries(settings) as [keyof Config, Setting][];
  return Object.fromEntries(
    entries.flatMap(([name, { key }]) => {
      const value: unknown = config[name];
      const isGiven = !['default', 'unset'].includes(origins[name]);
      return isGiven && !(value instanceof Secret) && value !== null && value !== undefined
        ? [[key, String(value)]]
        : [];
    }),
  );
}

async function toStdout(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of bytes) await writeOut(piece);
}

function resultOf(file: string, { bytes, sha256, summary }: Made): CommandResult {
  const { tables = [], files = { count: 0, bytes: 0 }, schema = '', masterKey = null } = summary ?? {};
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return {
    value: { file, bytes, sha256, tables, files: files.count, schema, masterKey },
    text: `${file}: ${count(rows, 'row')}, ${count(files.count, 'file')}, ${count(bytes, 'byte')}`,
    next: `svc backup verify ${file}`,
  };
}
