import { chownSync, existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BackupError, CopyError, copyDatabase, copyState, type TableDigest } from '#src/features/index.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { conditionOf } from '#src/platform/db/conditions.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { estimatedRows } from '#src/platform/db/migrations.js';
import { databaseBytes } from '#src/platform/db/sizes.js';
import { removeSqlite } from '#src/platform/db/sqlite-replace.js';
import type { Runtime } from '#src/platform/index.js';
import { databaseName, holdsPassword } from '../installation/database-url.js';
import { requireDatabase } from '../installation/installation.js';
import { requireCurrentSchema, withRuntime } from '../installation/run-command.js';
import { type CommandCall, type CommandResult, command, type ParsedArgs } from '../line/command.js';
import { readStdin, valid } from '../line/input.js';
import { requireNoServer } from '../serving/running-servers.js';
import { bytesText, durationText } from '../serving/status-lines.js';
import { count } from '../terminal/count.js';
import { CommandError, conflictError, failedError, shellWord, usageError } from '../terminal/exit.js';
import { createProgress } from '../terminal/progress.js';
import { ownerOf } from './backup-place.js';

/** `svc db copy` */
export const dbCopy = command({
  path: 'db copy',
  summary:
    'Copies the whole database to another one, SQLite or Postgres, and compares the digest of each table. Sessions, keys and deliveries go on there',
  options: [
    {
      flag: '--to',
      value: 'URL',
      summary: 'an empty database: sqlite:FILE or postgres://USER@HOST/NAME; - reads the URL from stdin',
      required: true,
    },
    { flag: '--resume', summary: 'go on with a copy that was interrupted (default: begin it again)' },
    { flag: '--live', summary: 'copy a snapshot beside a running server; what it writes later is not in the copy' },
  ],
  examples: ['svc db copy --to sqlite:copy.db', 'svc db copy --to sqlite:second-copy.db --json'],
  needs: 'config',
  run: async (call): Promise<CommandResult> => {
    const { args, loaded, output } = call;
    requireDatabase(loaded.config);
    const url = await targetUrl(args);
    const [live, resume] = [args.isSet('--live'), args.isSet('--resume')];
    if (live && resume)
      throw usageError('A copy of a snapshot cannot go on, because the snapshot is gone.', 'leave out --resume');
    const target = targetSettings(loaded, url);
    const tables = await withRuntime(loaded, call, false, async (source) => {
      requireCurrentSchema(await source.migrator.status());
      if (live) output.note('Later writes of a running server are not in the copy.');
      else await requireNoServer(source, 'its later writes would be missing. --live copies a snapshot all the same.');
      return copyInto(source, target, call, resume).catch((error) => {
        throw explanationOf(error);
      });
    });
    setOwner(target);
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    return {
      value: { tables },
      text: `Copied ${count(rows, 'row')} of ${count(tables.length, 'table')} to ${databaseName(url)}. The digest of each table is the same.`,
      next: nextStep(url),
    };
  },
});

/** The URL of `--to`. One with a password is refused before, because every user of this machine can read arguments. */
async function targetUrl(args: ParsedArgs): Promise<string> {
  const given = args.required('--to');
  const url = given === '-' ? await readStdin('--to -') : given;
  valid(settings.databaseUrl.schema, '--to', url);
  return url;
}

function targetSettings(loaded: LoadedConfig, url: string): LoadedConfig {
  const databaseUrl = new Secret(url);
  return {
    ...loaded,
    config: { ...loaded.config, databaseUrl, databaseReadUrl: undefined, databaseListenUrl: undefined },
  };
}

/** Copies into the target, if it is empty or holds an unfinished copy. */
async function copyInto(
  source: Runtime,
  loaded: LoadedConfig,
  call: CommandCall,
  resume: boolean,
): Promise<TableDigest[]> {
  const { config } = loaded;
  const url = config.databaseUrl.reveal();
  const { file } = parseDatabaseUrl(url);
  const isAbsent = file !== null && !existsSync(file);
  const found = isAbsent ? 'empty' : await ofTarget(url, withRuntime(loaded, call, false, copyState));
  if (found === 'data') throw conflict('target_not_empty', `${databaseName(url)} is not empty.`, emptyOne);
  if (resume && found === 'empty') call.output.note(`${databaseName(url)} holds no unfinished copy. The copy begins.`);
  const isOver = found === 'unfinished' && !resume;
  if (isOver && file !== null) await removeSqlite(file);
  const progress = createProgress(call.output);
  let total = 0;
  let isOpen = false;
  const copied = withRuntime(loaded, call, true, (target) => {
    isOpen = true;
    return copyDatabase(source, withOwnErrors(target, url), {
      start: resume && found === 'unfinished' ? 'resume' : isOver && file === null ? 'over' : 'empty',
      onBegin: async (tables) => {
        total = await planned(source, loaded, call, tables);
      },
      onProgress: (step, table, rows) =>
        progress.show(`${step} ${rows} of about ${total} rows, ${table}`, total === 0 ? undefined : rows / total),
    });
  });
  return copied
    .catch((error) => {
      throw isOpen ? error : targetError(error, url);
    })
    .finally(() => progress.clear());
}

/** The target, whose errors say that they are not those of the source. */
function withOwnErrors(target: Runtime, url: string): Runtime {
  const { driver } = target;
  return {
    ...target,
    driver: {
      ...driver,
      exclusive: (body) => ofTarget(url, driver.exclusive(body)),
      snapshot: (body, reading) => ofTarget(url, driver.snapshot(body, reading)),
    },
  };
}

async function ofTarget<T>(url: string, work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw targetError(error, url);
  });
}

/** SQLSTATE of Postgres for a table that does not exist. */
const undefinedTable = '42P01';

/** The error as one of the target, if it concerns the operator. */
function targetError(error: unknown, url: string): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const name = databaseName(url);
  // The other process has created the schema first, or has dropped these tables to begin again.
  if (error.kind === 'unique' || error.code === undefinedTable)
    return conflict('copy_taken_over', `Another process copies into ${name}.`, 'wait until it has ended');
  const condition = conditionOf(error.code);
  if (error.kind === 'busy' || condition === undefined) return error;
  const { type, message, next, outcome = 'unreachable' } = condition;
  const ofSource = /[;?]? *svc config show --origin shows SVC_DATABASE_URL/;
  const fix =
    type === 'database_damaged' ? emptyOne : next.replace(ofSource, '').replaceAll('SVC_DATABASE_URL', '--to');
  return new CommandError(outcome, type, `The target ${name}: ${lowerFirst(message)} (${error.code}).`, fix);
}

function lowerFirst(text: string): string {
  return `${text[0]?.toLowerCase()}${text.slice(1)}`;
}

const emptyOne = 'name a new file, or a new database made with createdb; a copy never replaces data';

/** Rows that are copied and verified in a second, by measurement: a rough value for the plan. */
const rowsPerSecond = 8000;

/** Shows the plan of the copy. Returns the estimated number of rows. */
async function planned(
  { driver, config }: Runtime,
  loaded: LoadedConfig,
  { output }: CommandCall,
  tables: readonly string[],
): Promise<number> {
  const url = loaded.config.databaseUrl.reveal();
  const { file } = parseDatabaseUrl(url);
  const rows = [...(await estimatedRows(driver, tables))].reduce(
    (sum, [name, more]) => (tables.includes(name) ? sum + more : sum),
    0,
  );
  const size = await driver.read(databaseBytes[driver.dialect]);
  const from = `${driver.dialect} ${databaseName(config.databaseUrl.reveal())}`;
  const free = file === null ? '' : `; ${bytesText(freeBytes(file))} are free there`;
  output.note(
    `Copies about ${count(rows, 'row')} in ${count(tables.length, 'table')} (${bytesText(Number(size[0]?.bytes))}) from ${from} ` +
      `to ${file === null ? 'postgres' : 'sqlite'} ${databaseName(url)}, in about ${durationText(Math.ceil(rows / rowsPerSecond))}${free}.`,
  );
  return rows;
}

function freeBytes(file: string): number | null {
  const directory = dirname(resolve(file));
  if (!existsSync(directory)) return null;
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

const again = 'run the command again without --resume';

function explanationOf(error: unknown): unknown {
  if (error instanceof BackupError)
    return failedError('copy_failed', `The database cannot be copied: ${error.message}.`);
  if (error instanceof DatabaseError && error.kind === 'busy')
    return conflict('database_in_use', 'Another process uses the database.', 'end it, then run this command again');
  if (!(error instanceof CopyError)) return error;
  const { reason, tables } = error;
  if (reason === 'taken')
    return conflict('copy_taken_over', 'Another process goes on with this copy.', 'wait until it has ended');
  if (reason === 'changed')
    return failedError('source_changed', 'The source has other tables than when this copy began.', again);
  const message = `These tables differ from the source: ${tables.join(', ')}. It was changed after the copy began.`;
  return failedError('copy_different', message, again);
}

function conflict(type: string, message: string, fix: string): CommandError {
  return conflictError(type, message, fix);
}

/** Gives a file that root has made to the owner of the data directory. */
function setOwner({ config }: LoadedConfig): void {
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const owner = ownerOf(config.dataDir);
  if (file !== null && owner !== undefined) chownSync(file, owner.uid, owner.gid);
}

function nextStep(url: string): string {
  const { file } = parseDatabaseUrl(url);
  if (file !== null) return `svc config set SVC_DATABASE_URL ${shellWord(`sqlite:${resolve(file)}`)}`;
  return holdsPassword(url)
    ? 'svc config set SVC_DATABASE_URL --value-file FILE, with the file that holds the URL'
    : `svc config set SVC_DATABASE_URL ${shellWord(url)}`;
}
