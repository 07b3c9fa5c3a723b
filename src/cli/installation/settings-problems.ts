import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ConfigProblem, unwritableLogFile } from '#src/platform/config/config-error.js';
import { parseFilesUrl } from '#src/platform/config/files-url.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import type { Secret } from '#src/platform/config/secret.js';
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

/** Lists settings that appear more than once in the file, one sentence each. */
export function repeatedSettings({ file, repeated }: Pick<LoadedConfig, 'file' | 'repeated'>): string[] {
  return repeated.map(({ key, lines }) => {
    const last = lines.at(-1);
    return `${key} is set in line ${lines.slice(0, -1).join(', ')} and again in line ${last} of ${file}; line ${last} counts`;
  });
}

/**
 * Explains why configured file stores cannot be used. `problemOfService` tests remote services. Leaves no files or directories behind: the
 * service creates a missing directory itself.
 */
export async function fileStoreProblems(
  config: Config,
  problemOfService: (url: Secret, config: Config) => Promise<string | undefined>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [key, url] of [
    ['SVC_FILES_URL', config.filesUrl],
    ['SVC_FILES_FROM', config.filesFrom],
  ] as const) {
    const location = url && parseFilesUrl(url.reveal());
    if (url === undefined || location === undefined) continue;
    const reason =
      location.kind === 'disk' ? unusableReason(resolve(location.directory)) : await problemOfService(url, config);
    if (reason !== undefined) problems.push(`${key} names a store that cannot be used: ${reason}`);
  }
  return problems;
}

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
