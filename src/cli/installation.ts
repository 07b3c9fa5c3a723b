import { resolve } from 'node:path';
import { defaultFiles, isInstallationInReach, type LoadedConfig, loadConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { isAbsent } from '#src/platform/files.js';
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
  return loadConfig({ environment, file: configFile, ...options });
}

/** Throws where the SQLite file does not exist: it would be created, and an empty database hides that the path is wrong. */
export function requireDatabase(config: Config): void {
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  if (file === null || !isAbsent(file)) return;
  const setting = resolve(file) === resolve(config.dataDir, 'svc.db') ? 'SVC_DATA_DIR' : 'SVC_DATABASE_URL';
  throw schemaError(
    `There is no database at ${resolve(file)}. Is ${setting} right?`,
    `correct ${setting}, or make a new database with svc init`,
  );
}

/** The database, or its schema, cannot be used by this version. */
export function schemaError(message: string, fix: string): CommandError {
  return new CommandError('unusable', 'schema_unusable', message, fix);
}
