import { chownSync, rmSync } from 'node:fs';
import { createAppliance } from '#src/appliance.js';
import { type BackupHead, type LoadedBackup, readHead, restoreBackup } from '#src/features/index.js';
import { entriesOf } from '#src/platform/archive/reader.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { fingerprintOf } from '#src/platform/crypto/key-ring.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { replaceSqlite } from '#src/platform/db/sqlite-replace.js';
import { FileStoreError, type Owner, openFileStoreAt } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Log } from '#src/platform/runtime/log.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { databaseName } from '../installation/database-url.js';
import { prepareDirectories } from '../installation/directories.js';
import { lockFile } from '../installation/lock-file.js';
import { forCommand, operatorContext, requireMasterKey, withRuntime } from '../installation/run-command.js';
import { type CommandCall, type CommandResult, command } from '../line/command.js';
import { listenerOn } from '../serving/port-listener.js';
import { requireNoServer } from '../serving/running-servers.js';
import { count } from '../terminal/count.js';
import { type CommandError, conflictError, exitCodes, unreachableError, unusableError } from '../terminal/exit.js';
import { type BackupFile, existingBackup, ownerOf, requireBackup } from './backup-place.js';
import { explained, passphraseOf, passphraseOption, readBackup } from './backup-read.js';

/** `svc backup restore` */
export const backupRestore = command({
  path: 'backup restore',
  summary:
    'Restores a backup into this installation, on SQLite or Postgres, while no server runs. Ends all sessions, open links and codes, and replaces the keys of JWTs',
  arguments: [{ name: 'FILE', summary: 'the backup: its path, its URL in an S3 bucket, or its name in SVC_BACKUP_TO' }],
  options: [
    passphraseOption,
    { flag: '--dry-run', summary: 'check the backup and change nothing; exit code 5 if it can be restored' },
    { flag: '--confirm', value: 'NAME', summary: 'name of the database with data that is replaced' },
  ],
  examples: ['svc backup restore backups/svc.tar --dry-run', 'svc backup restore backups/svc.tar --dry-run --json'],
  needs: 'config',
  run: async (call): Promise<CommandResult> => {
    const { args, loaded, prompts } = call;
    const { config } = loaded;
    const { projects, log, own } = await withRuntime(loaded, call, false, async (runtime) => {
      // A file of SQLite is replaced only while no other process has it open.
      const isFile = parseDatabaseUrl(config.databaseUrl.reveal()).file !== null;
      if (!args.isSet('--dry-run') && !isFile) await requireNoServer(runtime, 'a backup cannot be restored under it.');
      return {
        projects: await projectsIn(runtime),
        log: runtime.log,
        own: fingerprintOf(runtime.sealing.keyCheck()),
      };
    });
    const place = existingBackup(args.argument('FILE'), { config, log });
    const passphrase = passphraseOf(args, config);
    await explained(place.shown, () => requireBackup(place));
    const head = await explained(place.shown, () => checkedHead(place, passphrase));
    requireKey(head, own);
    const name = databaseName(config.databaseUrl.reveal());
    if (args.isSet('--dry-run')) {
      const found = projects === 0 ? 'It has no data.' : `Its ${count(projects, 'project')} would be replaced.`;
      return {
        value: {
          createdAt: head.createdAt,
          version: head.version,
          schema: head.schema.at(-1),
          database: name,
          replaces: projects,
        },
        text: `${place.shown}, made ${head.createdAt} by svc ${head.version}, can be restored into ${name}. ${found}`,
        exitCode: exitCodes.conflict,
      };
    }
    await requireNoServerOnPort(config);
    if (projects > 0)
      await prompts.confirmByName(
        `This permanently replaces the data of ${count(projects, 'project')} in the database ${name}.`,
        [name],
        args.text('--confirm'),
      );
    const { manifest } = await explained(place.shown, () => replaced(call, place, passphrase, log));
    await place.store.close();
    await finish(loaded, call, head);
    const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
    return {
      value: { restored: place.shown, createdAt: head.createdAt, rows, files: manifest.files.count },
      text: `Restored ${count(rows, 'row')} and ${count(manifest.files.count, 'file')} of ${head.createdAt}. All sessions have ended.`,
      next: 'svc audit verify',
    };
  },
});

/** Number of projects in the database; 0 if it has no tables. */
async function projectsIn({ driver, migrator }: Runtime): Promise<number> {
  const { applied } = await migrator.status();
  if (applied.length === 0) return 0;
  const [row] = await driver.read({ sql: 'select count(*) as count from projects', values: [] });
  return Number(row?.count);
}

/** The head of a backup, after the digest of the whole has been compared. */
async function checkedHead(place: BackupFile, passphrase: string | undefined): Promise<BackupHead> {
  let head: BackupHead | undefined;
  for await (const entry of entriesOf(readBackup(place, passphrase)))
    if (head === undefined) head = await readHead(entry);
    else for await (const _ of entry.bytes);
  return head ?? (await Promise.reject(new Error('an archive without entries was read')));
}

/** Throws if the backup was made with another master key: its secrets could not be decrypted. Exit 7. */
function requireKey({ masterKey }: BackupHead, own: string): void {
  if (masterKey === null || masterKey === own) return;
  throw unusableError(
    'master_key_wrong',
    `This backup needs the master key with the fingerprint ${masterKey}, and the settings have the one with ${own}.`,
    'restore SVC_MASTER_KEY, or the svc.env of the backup, first',
  );
}

/** Throws if a server answers. Exit 5. */
async function requireNoServerOnPort(config: Config): Promise<void> {
  if ((await listenerOn(config)) !== 'svc') return;
  const message = `A server of svc answers on port ${config.port}; a backup cannot be restored under it.`;
  throw conflictError('server_running', message, 'stop the server, then run this command again');
}

interface ConfiguredCall extends Pick<CommandCall, 'output'> {
  readonly loaded: LoadedConfig;
}

/** Restores into the database: all of it or nothing. */
async function replaced(
  call: ConfiguredCall,
  place: BackupFile,
  passphrase: string | undefined,
  log: Log,
): Promise<LoadedBackup> {
  const { config } = call.loaded;
  const owner = ownerOf(config.dataDir);
  const files = openFileStoreAt(config.filesUrl, config, { log, owner });
  const file = async (key: string, bytes: AsyncIterable<Uint8Array>) => {
    await files.write(key, bytes).catch((error: unknown) => {
      throw error instanceof FileStoreError ? filesUnusable(error) : error;
    });
  };
  const restoreInto = (databaseUrl: Secret, replaces: boolean) =>
    withRuntime({ ...call.loaded, config: { ...config, databaseUrl } }, call, true, (runtime) =>
      restoreBackup(runtime, readBackup(place, passphrase), { endsSessions: true, replaces, file }),
    );
  try {
    const { file: path } = parseDatabaseUrl(config.databaseUrl.reveal());
    if (path === null) return await restoreInto(config.databaseUrl, true);
    prepareDirectories(config);
    return await replacedFile(path, owner, (incoming) => restoreInto(new Secret(`sqlite:${incoming}`), false));
  } finally {
    await files.close();
  }
}

/** Error for a file store that does not take the files of the backup. */
function filesUnusable({ reason }: FileStoreError): CommandError {
  const message = `The files of the backup cannot be stored: ${whyUnwritable(reason)}.`;
  return unreachableError('file_store_unusable', message, 'correct it and run the command again');
}

/** Restores into a new file, which then takes the place of the database. One process at a time. */
async function replacedFile(
  path: string,
  owner: Owner | undefined,
  restoreInto: (file: string) => Promise<LoadedBackup>,
): Promise<LoadedBackup> {
  const incoming = `${path}.restoring`;
  const unlock = lockFile(`${incoming}.lock`, (pid) => {
    const message = `The process ${pid} is restoring a backup into this database.`;
    return conflictError('restore_running', message, 'wait until it has ended');
  });
  const remove = () => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${incoming}${end}`, { force: true });
  };
  try {
    remove();
    const loaded = await restoreInto(incoming);
    if (owner !== undefined) chownSync(incoming, owner.uid, owner.gid);
    await replaceSqlite(path, incoming);
    return loaded;
  } catch (error) {
    if (!(error instanceof DatabaseError && error.kind === 'busy')) throw error;
    const message = 'Another process uses the database, so that it cannot be replaced.';
    throw conflictError('database_in_use', message, 'end it, then run this command again');
  } finally {
    remove();
    unlock();
  }
}

/** Records the restore in the audit log of the restored database, and builds its fulltext indexes. */
async function finish(
  { config }: LoadedConfig,
  { output }: Pick<CommandCall, 'output'>,
  head: BackupHead,
): Promise<void> {
  const appliance = await createAppliance(forCommand(config, output), { silentDatabase: true });
  try {
    await requireMasterKey(appliance);
    await appliance.runtime.db.work(operatorContext(appliance, null), async (unit) => {
      unit.record('backupRestored', {
        resource: 'installation',
        payload: { createdAt: head.createdAt, version: head.version },
      });
    });
    await appliance.features.jobs.run('indexes.build');
  } finally {
    await appliance.close();
  }
}
