import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backupKey } from '#src/features/index.js';
import { parseBackupPlace } from '#src/platform/config/backup-settings.js';
import { type ConfigProblem, unwritableLogFile } from '#src/platform/config/config-error.js';
import { type FilesLocation, parseFilesUrl } from '#src/platform/config/files-url.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import type { Secret } from '#src/platform/config/secret.js';
import { tlsFileProblems } from '#src/platform/config/tls-files.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';

/** Explains why the templates directory cannot be used; empty if it can, or if none is configured. */
export function templatesProblems({ templatesDir }: Pick<Config, 'templatesDir'>): string[] {
  if (templatesDir === undefined || statSync(templatesDir, { throwIfNoEntry: false })?.isDirectory()) return [];
  return [`SVC_TEMPLATES_DIR names no directory: ${resolve(templatesDir)}`];
}

/** Explains why the data directory cannot be used; empty if it exists or can be created. */
export function dataDirectoryProblems({ dataDir }: Pick<Config, 'dataDir'>): string[] {
  const reason = unusableReason(resolve(dataDir));
  return reason === undefined ? [] : [`The data directory cannot be used: ${reason}`];
}

/** Explains why places on this machine that the settings name cannot be used: directories, certificate and log file. */
export function localProblems(config: Config): (string | ConfigProblem)[] {
  return [
    ...dataDirectoryProblems(config),
    ...tlsFileProblems(config),
    ...templatesProblems(config),
    ...logFileProblems(config),
  ];
}

/** Lists settings that appear more than once in the file, one sentence each. */
export function repeatedSettings({ file, repeated }: Pick<LoadedConfig, 'file' | 'repeated'>): string[] {
  return repeated.map(({ key, lines }) => {
    const last = lines.at(-1);
    return `${key} is set in line ${lines.slice(0, -1).join(', ')} and again in line ${last} of ${file}; line ${last} counts`;
  });
}

/**
 * Explains why configured stores of files and backups cannot be used. `problemOfService` tests remote services, with the key of its settings.
 * Leaves no files or directories behind: the service creates a missing directory itself.
 */
export async function fileStoreProblems(
  config: Config,
  problemOfService: (location: FilesLocation, config: Config) => Promise<string | undefined>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [key, location, settings] of [
    ['SVC_FILES_URL', locationOf(config.filesUrl), config],
    ['SVC_FILES_FROM', locationOf(config.filesFrom), config],
    ['SVC_BACKUP_TO', parseBackupPlace(config.backupTo ?? ''), { ...config, ...backupKey(config) }],
  ] as const) {
    if (location === undefined) continue;
    const reason =
      location.kind === 'disk'
        ? unusableReason(resolve(location.directory))
        : await problemOfService(location, settings);
    if (reason !== undefined) problems.push(`${key} names a store that cannot be used: ${reason}`);
  }
  return problems;
}

const locationOf = (url: Secret | undefined) => (url === undefined ? undefined : parseFilesUrl(url.reveal()));

/** Explains why this user cannot create files in a directory or, if it does not exist, create it below its nearest existing parent. */
function unusableReason(directory: string): string | undefined {
  let at = directory;
  while (!existsSync(at) && at !== dirname(at)) at = dirname(at);
  try {
    if (!statSync(at).isDirectory()) return `${at} is no directory`;
    accessSync(at, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `${at} cannot be written to: ${whyUnwritable(error)}`;
  }
}

/** Explains why the server cannot append its log to the configured file; empty if it can. Creates nothing. */
export function logFileProblems({ logFile }: Pick<Config, 'logFile'>): ConfigProblem[] {
  if (logFile === undefined) return [];
  const path = resolve(logFile);
  try {
    if (existsSync(path)) accessSync(path, constants.W_OK);
    else accessSync(dirname(path), constants.W_OK | constants.X_OK);
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? [unwritableLogFile(path, 'EISDIR')] : [];
  } catch (error) {
    return [unwritableLogFile(path, error)];
  }
}
