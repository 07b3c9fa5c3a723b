import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseFilesUrl } from '#src/platform/config/files-url.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import type { Secret } from '#src/platform/config/secret.js';
import { whyUnwritable } from '#src/platform/system-errors.js';

/** Why the directory of texts cannot be used; empty where it can, and where none is set. */
export function templatesProblems({ templatesDir }: Pick<Config, 'templatesDir'>): string[] {
  if (templatesDir === undefined || statSync(templatesDir, { throwIfNoEntry: false })?.isDirectory()) return [];
  return [`SVC_TEMPLATES_DIR names no directory: ${resolve(templatesDir)}`];
}

/** Why the data directory cannot be used; empty where it can, or can be made. */
export function dataDirectoryProblems({ dataDir }: Pick<Config, 'dataDir'>): string[] {
  const reason = unusableReason(resolve(dataDir));
  return reason === undefined ? [] : [`The data directory cannot be used: ${reason}`];
}

/** The settings that the file has more than once, a sentence for each. */
export function repeatedSettings({ file, repeated }: Pick<LoadedConfig, 'file' | 'repeated'>): string[] {
  return repeated.map(({ key, lines }) => {
    const last = lines.at(-1);
    return `${key} is set in line ${lines.slice(0, -1).join(', ')} and again in line ${last} of ${file}; line ${last} counts`;
  });
}

/**
 * Why a configured store does not take files. Of a service the given function tells. Nothing is left behind: a directory that is not there yet is
 * made by the service.
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

/** Why this user cannot make files in a directory, or the directory itself in the next one above that exists. */
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
