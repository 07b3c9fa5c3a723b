import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  defaultFile,
  defaultFiles,
  isInstallationInReach,
  type LoadedConfig,
  loadConfig,
} from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { logWithoutFile, parseDatabaseUrl } from '#src/platform/db/index.js';
import { errorCode, isAbsent } from '#src/platform/runtime/files.js';
import type { CommandCall } from '../line/command.js';
import { type CommandError, notAllowedError, shellWord, unusableError } from '../terminal/exit.js';
import { requireOwnLink, requireOwnSettings } from './foreign-files.js';
import { fileOwnerOf, groupOfProcess } from './owners.js';

/** Options for reading settings. */
interface LoadOptions {
  readonly needsMasterKey?: boolean;
  readonly flags?: Readonly<Record<string, string | undefined>>;
  /** True for a server, which must never run as another user. */
  readonly serves?: boolean;
}

/** Reads the configuration selected by the command line and the environment. Throws ConfigError and CommandError. */
export function load(
  { environment, configFile }: Pick<CommandCall, 'environment' | 'configFile'>,
  { serves = false, ...options }: LoadOptions = {},
): LoadedConfig {
  const named = configFile ?? (environment.SVC_CONFIG || undefined);
  if (named !== undefined && isAbsent(named))
    throw unusableError(
      'configuration_invalid',
      `The configuration file ${resolve(named)} does not exist.`,
      `correct the path, or make an installation with svc --config ${shellWord(named)} init`,
    );
  if (!isInstallationInReach({ environment, file: configFile }))
    throw unusableError(
      'installation_not_found',
      `There is no installation here: neither ${defaultFiles.map((file) => resolve(file)).join(' nor ')} exists, and SVC_MASTER_KEY is not set.`,
      'change to its directory, or name its settings by --config FILE or SVC_CONFIG; svc init makes a new installation',
    );
  const file = named ?? defaultFile();
  if (file !== undefined && named === undefined) requireOwnSettings(resolve(file));
  if (file !== undefined) requireFile(resolve(file), serves);
  return loadConfig({ environment, file: configFile, ...options });
}

/** Throws if the settings file is a directory or unreadable. */
function requireFile(file: string, serves: boolean): void {
  requireReadable(file, serves);
  if (!statSync(file).isDirectory()) return;
  const message = `The configuration file ${file} is a directory.`;
  const fix = 'name the file itself by --config FILE or SVC_CONFIG';
  throw unusableError('configuration_invalid', message, fix);
}

/**
 * Throws if this user cannot read the settings, and suggests the same command as their owner. For a server it suggests granting read access
 * instead.
 */
function requireReadable(file: string, serves: boolean): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    if (errorCode(error) !== 'EACCES') return;
    const owner = fileOwnerOf(file);
    const readable = `as root: chown root:${shellWord(groupOfProcess())} ${shellWord(file)} && chmod 0640 ${shellWord(file)}`;
    const words = process.argv.slice(2).filter((word, at, all) => word !== '--config' && all[at - 1] !== '--config');
    throw notAllowedError(
      'configuration_unreadable',
      `The configuration file ${file} cannot be read by this user: it belongs to ${owner}.`,
      serves
        ? readable
        : ['sudo -u', shellWord(owner), 'svc --config', shellWord(file), ...words.map(shellWord)].join(' '),
    );
  }
}

/** Throws if the SQLite file does not exist. Otherwise it would be created, and the empty database would hide the wrong path. */
export function requireDatabase(config: Config): void {
  requireNoLog(config);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  if (file !== null && !isAbsent(file)) requireOwnLink(file);
  if (file === null || !isAbsent(file)) return;
  const setting = resolve(file) === resolve(config.dataDir, 'svc.db') ? 'SVC_DATA_DIR' : 'SVC_DATABASE_URL';
  throw schemaError(
    `There is no database at ${resolve(file)}. Is ${setting} right?`,
    `correct ${setting}, or make a new database with svc init`,
  );
}

/** Throws if the log of an SQLite database exists without its file. The file was moved, and a new one would lose the writes in the log. */
export function requireNoLog(config: Config): void {
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const log = file === null ? undefined : logWithoutFile(file);
  if (file === null || log === undefined) return;
  throw unusableError(
    'database_file_gone',
    `The database ${resolve(file)} is ${isAbsent(file) ? 'gone' : 'empty'}, but its log ${log} is there and holds the newest writes.`,
    `put ${resolve(file)} back as it was; otherwise move ${shellWord(log)} away without deleting it, and run svc backup restore FILE`,
  );
}

/** Error for a database or a schema that this version cannot use. */
export function schemaError(message: string, fix: string): CommandError {
  return unusableError('schema_unusable', message, fix);
}
