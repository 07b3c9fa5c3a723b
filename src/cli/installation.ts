import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { defaultFiles, isInstallationInReach, type LoadedConfig, loadConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { logWithoutFile, parseDatabaseUrl } from '#src/platform/db/index.js';
import { errorCode, isAbsent } from '#src/platform/files.js';
import type { Call } from './command.js';
import { CommandError, shellWord } from './exit.js';

/** Reads the configuration that the command line and the environment name. Throws ConfigError. */
export function load(
  { environment, configFile }: Pick<Call, 'environment' | 'configFile'>,
  options: { readonly needsMasterKey?: boolean; readonly flags?: Readonly<Record<string, string | undefined>> } = {},
): LoadedConfig {
  const named = configFile ?? (environment.SVC_CONFIG || undefined);
  if (named !== undefined && isAbsent(named))
    throw new CommandError(
      'unusable',
      'configuration_invalid',
      `The configuration file ${resolve(named)} does not exist.`,
      `correct the path, or make an installation with svc --config ${shellWord(named)} init`,
    );
  if (!isInstallationInReach({ environment, file: configFile }))
    throw new CommandError(
      'unusable',
      'installation_not_found',
      `There is no installation here: neither ${defaultFiles.map((file) => resolve(file)).join(' nor ')} exists, and SVC_MASTER_KEY is not set.`,
      'change to its directory, or name its settings by --config FILE or SVC_CONFIG; svc init makes a new installation',
    );
  const file = named ?? defaultFiles.find((path) => !isAbsent(path));
  if (file !== undefined) requireFile(resolve(file));
  return loadConfig({ environment, file: configFile, ...options });
}

/** Throws where the settings are a directory, or cannot be read. */
function requireFile(file: string): void {
  requireReadable(file);
  if (!statSync(file).isDirectory()) return;
  const message = `The configuration file ${file} is a directory.`;
  const fix = 'name the file itself by --config FILE or SVC_CONFIG';
  throw new CommandError('unusable', 'configuration_invalid', message, fix);
}

/** Throws where this user may not read the settings: who may, and the same command as that user. */
function requireReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    if (errorCode(error) !== 'EACCES') return;
    const owner = ownerOf(file);
    const words = process.argv.slice(2).filter((word, at, all) => word !== '--config' && all[at - 1] !== '--config');
    throw new CommandError(
      'notAllowed',
      'configuration_unreadable',
      `The configuration file ${file} cannot be read by this user: it belongs to ${owner}.`,
      ['sudo -u', shellWord(owner), 'svc --config', shellWord(file), ...words.map(shellWord)].join(' '),
    );
  }
}

/** The name of who owns a file, or of its directory where that is all that can be seen; the number where the system knows no name. */
function ownerOf(file: string): string {
  const seen = [file, dirname(file)].flatMap((path) => {
    try {
      return [statSync(path).uid];
    } catch {
      return [];
    }
  });
  const uid = seen[0] ?? 0;
  const users = isAbsent('/etc/passwd') ? '' : readFileSync('/etc/passwd', 'utf8');
  const entry = users.split('\n').find((line) => line.split(':')[2] === String(uid));
  return entry?.split(':')[0] ?? `#${uid}`;
}

/** Throws where the SQLite file does not exist: it would be created, and an empty database hides that the path is wrong. */
export function requireDatabase(config: Config): void {
  requireNoLog(config);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  if (file === null || !isAbsent(file)) return;
  const setting = resolve(file) === resolve(config.dataDir, 'svc.db') ? 'SVC_DATA_DIR' : 'SVC_DATABASE_URL';
  throw schemaError(
    `There is no database at ${resolve(file)}. Is ${setting} right?`,
    `correct ${setting}, or make a new database with svc init`,
  );
}

/** Throws where the log of an SQLite database lies beside no file: the file was moved away, and a new one would cost what is in the log. */
export function requireNoLog(config: Config): void {
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const log = file === null ? undefined : logWithoutFile(file);
  if (file === null || log === undefined) return;
  throw new CommandError(
    'unusable',
    'database_file_gone',
    `The database ${resolve(file)} is ${isAbsent(file) ? 'gone' : 'empty'}, but its log ${log} is there and holds the newest writes.`,
    `put ${resolve(file)} back as it was; to begin anew, move the log away and do not delete it`,
  );
}

/** The database, or its schema, cannot be used by this version. */
export function schemaError(message: string, fix: string): CommandError {
  return new CommandError('unusable', 'schema_unusable', message, fix);
}
