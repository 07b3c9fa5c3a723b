import { resolve } from 'node:path';
import { createAppliance } from '#src/appliance.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import type { FilesLocation } from '#src/platform/config/files-url.js';
import { isAtOtherPort } from '#src/platform/config/localhost.js';
import type { Config, Setting } from '#src/platform/config/schema.js';
import { settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { tlsTimeProblem, tlsValidity } from '#src/platform/config/tls-files.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { logWithoutFile, parseDatabaseUrl } from '#src/platform/db/index.js';
import { openLocation, probeFileStore } from '#src/platform/file-store/index.js';
import { isAbsent } from '#src/platform/runtime/files.js';
import { namingOwner, refusalOf } from '../installation/database-refusal.js';
import { maskUrl } from '../installation/database-url.js';
import { forCommand, wrongMasterKey } from '../installation/run-command.js';
import { fileStoreProblems, localProblems, repeatedSettings } from '../installation/settings-problems.js';
import { type CommandCall, command } from '../line/command.js';
import { type CommandError, explain } from '../terminal/exit.js';
import { columns } from '../terminal/table.js';
import { configChangeCommands } from './config-change.js';

const show = command({
  path: 'config show',
  summary: 'Prints the current settings, with secrets masked',
  options: [{ flag: '--origin', summary: 'show where each value comes from: flag, environment, file or default' }],
  examples: ['svc config show', 'svc config show --origin --json'],
  needs: 'config',
  run: async ({ args, loaded: { config, origins, file } }) => {
    const withOrigin = args.isSet('--origin');
    const shown = (Object.entries(settings) as [keyof Config, Setting][]).map(([name, { key }]) => ({
      key,
      value: masked(config[name]),
      ...(withOrigin ? { origin: origins[name] } : {}),
    }));
    return {
      value: { file, settings: shown },
      text: columns(
        ['SETTING', ...(withOrigin ? ['ORIGIN'] : []), 'VALUE'],
        shown.map(({ key, origin, value }) => [key, ...(origin === undefined ? [] : [origin]), value ?? '']),
      ),
    };
  },
});

const check = command({
  path: 'config check',
  summary:
    'Checks the settings, the files that they name, whether the database and the file stores can be used, and whether the master key is that of the database. Exit code 7, with all problems, if any is invalid',
  examples: ['svc config check', 'svc config check --json'],
  needs: 'config',
  run: async ({ loaded, output }) => {
    const { config, file, unknownNames } = loaded;
    const warnings = [
      ...unknownNames.map((name) => `The environment has ${name}, which is not a setting`),
      ...repeatedSettings(loaded),
    ];
    if (isAtOtherPort(config.baseUrl, config.port))
      warnings.push(`SVC_BASE_URL is ${config.baseUrl}, but the server listens on port ${config.port}`);
    const validity = tlsValidity(config);
    const certificate = validity && tlsTimeProblem(validity, Date.now());
    if (certificate !== undefined) warnings.push(certificate.message);
    const problems = [...localProblems(config), ...(await fileStoreProblems(config, serviceProblem))];
    const refusal = await databaseRefusal(config, output, warnings);
    for (const warning of warnings) output.note(`${warning}.`);
    if (problems.length > 0) {
      if (refusal !== undefined) problems.push(aboutDatabase(refusal));
      throw new ConfigError(problems);
    }
    if (refusal !== undefined) throw namingOwner(config, refusal);
    return {
      value: { ok: true, file, ...(warnings.length === 0 ? {} : { warnings }) },
      text: `The settings are valid (${file ?? 'environment and defaults only'}).`,
    };
  },
});

/** Error for a database that the service cannot use. */
type Refusal = DatabaseError | CommandError;

/** `svc config …` */
export const configCommands = [show, check, ...configChangeCommands];

/**
 * Tests if the service can use the database, within the connection timeout. Returns the error, or undefined on success. Does not create a
 * missing file.
 */
async function databaseRefusal(
  config: Config,
  output: CommandCall['output'],
  warnings: string[],
): Promise<Refusal | undefined> {
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  if (file !== null && isAbsent(file) && logWithoutFile(file) === undefined) {
    warnings.push(`There is no database at ${resolve(file)} yet; svc init makes one`);
    return undefined;
  }
  return (await refusalOf(config)) ?? keyRefusal(config, output);
}

/** Returns an error if the database was set up with another master key. A database without a schema has no key yet. */
async function keyRefusal(config: Config, output: CommandCall['output']): Promise<Refusal | undefined> {
  try {
    const appliance = await createAppliance(forCommand(config, output), { writeLog: () => {} });
    try {
      const { migrator, db } = appliance.runtime;
      const { applied } = await migrator.status();
      const other = applied.length === 0 ? undefined : await appliance.features.masterKey.other(db);
      return other && wrongMasterKey(other);
    } finally {
      await appliance.close();
    }
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}

/** Formats the error for a list of problems, with the setting that it concerns. */
function aboutDatabase(refusal: Refusal): string {
  const setting = refusal instanceof DatabaseError ? 'SVC_DATABASE_URL' : 'SVC_MASTER_KEY';
  return `${setting}: ${explain(refusal).message.replace(/\.$/, '')}`;
}

/** Tests a file service: writes, reads and deletes a small object. */
async function serviceProblem(location: FilesLocation, config: Config): Promise<string | undefined> {
  const store = openLocation(location, config, { log: { error: () => {}, warn: () => {} } });
  return probeFileStore(store).finally(() => store.close());
}

/** The value as text without secrets; null if unset. */
function masked(value: Config[keyof Config]): string | null {
  if (value === undefined) return null;
  if (value instanceof Secret) {
    const text = value.reveal();
    return /^[a-z]+:/.test(text) ? maskUrl(text) : '***';
  }
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([name, rate]) => `${name}=${rate.count}/${rate.seconds}`)
      .join(',');
  }
  return maskUrl(String(value));
}
