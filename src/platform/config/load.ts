import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { similar } from '#src/contract/similar.js';
import { errorCode, FileTooLargeError, isAbsent, readSmall, utf8Text } from '../runtime/files.js';
import { whyUnreadable } from '../runtime/system-errors.js';
import { ConfigError, type GivenProblem, toProblem, unreadableFile } from './config-error.js';
import { problemsBetween } from './cross-field.js';
import { type EnvFile, noLines, parseEnvFile } from './env-file.js';
import { MasterKey, type MasterKeyFile } from './master-key.js';
import { type Config, type Setting, settingNames, settings } from './schema.js';
import { Secret } from './secret.js';

/** Source of a value. */
export type Origin = 'flag' | 'environment' | 'file' | 'default' | 'unset';

/** The effective settings with the origin of each, and the file they were read from. */
export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Readonly<Record<keyof Config, Origin>>;
  /** The configuration file that was read; null if there is none. */
  readonly file: string | null;
  /** Environment variables that look like settings but are not, each with the setting that was probably meant. */
  readonly unknownNames: readonly string[];
  /** Settings that the file has more than once, each with its lines; the last one counts. */
  readonly repeated: readonly { readonly key: string; readonly lines: readonly number[] }[];
}

/** Sources of settings. */
interface LoadOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `--config FILE`. */
  readonly file?: string | undefined;
  /** Values given as flags, by environment name. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  /** True if a missing master key is a problem; `svc init` has none yet. */
  readonly needsMasterKey?: boolean;
  /** Content of the configuration file that is not written yet. */
  readonly fileText?: string;
}

/** Most bytes of the settings file, and of a file with a single value. */
const fileBytes = { settings: 1_048_576, value: 65_536 } as const;

/** Default paths of the settings file. */
export const defaultFiles = ['svc.env', '/etc/svc/svc.env'];

/**
 * The first default file that exists. A file in a current directory that this user may not search does not count: its existence is unknown,
 * and the directory often belongs to another user whose shell started the command.
 */
export function defaultFile(): string | undefined {
  return defaultFiles.find((path, at) => !isAbsent(path) && !(at === 0 && isHidden(path)));
}

function isHidden(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return errorCode(error) === 'EACCES';
  }
}

/** The configuration file: the given one, else the first default file that exists. */
export function configFile(options: Pick<LoadOptions, 'environment' | 'file'>): string | null {
  const named = options.file ?? (options.environment.SVC_CONFIG || undefined);
  if (named !== undefined) return resolve(named);
  const found = defaultFile();
  return found === undefined ? null : resolve(found);
}

/** True if there is an installation: a settings file, or a master key in the environment, as in a container. */
export function isInstallationInReach(options: Pick<LoadOptions, 'environment' | 'file'>): boolean {
  const { SVC_MASTER_KEY: key, SVC_MASTER_KEY_FILE: keyFile } = options.environment;
  return configFile(options) !== null || [key, keyFile].some((value) => value !== undefined && value !== '');
}

/** Throws ConfigError if the file cannot be read, because the effective settings would differ without it. */
function readSettings(file: string): string {
  try {
    return readSmall(file, fileBytes.settings).toString('utf8');
  } catch (error) {
    if (error instanceof FileTooLargeError)
      throw new ConfigError([`The configuration file ${file} has ${error.message}`]);
    throw new ConfigError([`The configuration file ${file} cannot be read: ${whyUnreadable(error)}`]);
  }
}

/** Reads flags > environment (`SVC_*`, `SVC_*_FILE`) > file > defaults. Throws ConfigError with all problems. */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const problems: GivenProblem[] = [];
  const file = configFile(options);
  const content = options.fileText ?? (file !== null && !isAbsent(file) ? readSettings(file) : undefined);
  const { values: fromFile, lines } = content === undefined ? noLines : parseEnvFile(content, problems);
  const values: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  for (const [name, setting] of Object.entries(settings) as [keyof Config, Setting][]) {
    const { text, origin } = find(setting, options, fromFile, problems);
    origins[name] = origin;
    if (text === null) {
      values[name] = undefined;
      continue;
    }
    const parsed = setting.schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(`${setting.key} ${parsed.error.issues[0]?.message ?? 'is not valid'}`);
  }
  if (values.masterKey instanceof Secret)
    values.masterKey = new MasterKey(values.masterKey.reveal(), masterKeyFile(options, file, fromFile));
  if (values.databaseUrl === undefined && origins.databaseUrl === 'unset') {
    values.databaseUrl = new Secret(`sqlite:${resolve(String(values.dataDir), 'svc.db')}`);
    origins.databaseUrl = 'default';
  }
  if (
    options.needsMasterKey !== false &&
    values.masterKey === undefined &&
    !problems.some((p) => toProblem(p).message.startsWith('SVC_MASTER_KEY'))
  ) {
    problems.push(missingMasterKey(file));
  }
  problems.push(
    ...problemsBetween(values).filter((problem) => !problems.some((listed) => sameSetting(listed, problem))),
  );
  if (problems.length > 0) throw new ConfigError(problems);
  // Built from the same table that defines the type; the loop above cannot be typed name by name.
  const config = Object.freeze(values) as Config;
  const unknownNames = unknownNamesIn(options.environment);
  const repeated = repeatedIn(lines);
  return { config, origins: origins as LoadedConfig['origins'], file, unknownNames, repeated };
}

/** The file that holds the master key; undefined if only the environment has it. systemd passes the file as environment, too. */
function masterKeyFile(
  { environment }: LoadOptions,
  file: string | null,
  fromFile: EnvFile['values'],
): MasterKeyFile | undefined {
  const { key } = settings.masterKey;
  if (environment[key] && environment[key] !== fromFile[key]) return undefined;
  const named = environment[`${key}_FILE`] ?? fromFile[`${key}_FILE`];
  if (named) return { path: resolve(named), form: 'value' };
  return file === null ? undefined : { path: file, form: 'settings' };
}

/**
 * The environment without the values that the configuration file has too. systemd passes the file as environment, which would hide later
 * changes of the file.
 */
export function environmentBeside(options: Pick<LoadOptions, 'environment' | 'file'>): LoadOptions['environment'] {
  const file = configFile(options);
  const { values } = file !== null && !isAbsent(file) ? parseEnvFile(readSettings(file), []) : noLines;
  return Object.fromEntries(Object.entries(options.environment).filter(([key, value]) => values[key] !== value));
}

/** Not reported as problems: other programs share the environment. */
function unknownNamesIn(environment: LoadOptions['environment']): string[] {
  return Object.keys(environment)
    .filter((name) => /^SVC_(?!TEST_|CONFIG$)/.test(name) && !settingNames.includes(name))
    .sort()
    .map((name) => {
      const meant = similar(name, settingNames);
      return meant === undefined ? name : `${name} (did you mean ${meant}?)`;
    });
}

/** Not reported as problems: systemd reads such a file too, and uses the last line. */
function repeatedIn(linesOf: EnvFile['lines']): LoadedConfig['repeated'] {
  return Object.entries(linesOf).flatMap(([key, lines]) => (lines.length > 1 ? [{ key, lines }] : []));
}

/** If there is a file, there is an installation already, and `svc init` does not create a second key for it. */
function missingMasterKey(file: string | null): GivenProblem {
  if (file === null || isAbsent(file))
    return {
      message: 'SVC_MASTER_KEY is not set',
      fix: 'set SVC_MASTER_KEY; svc init makes an installation with a new one',
    };
  return {
    message: `SVC_MASTER_KEY is set neither in ${file} nor in the environment, and what is stored cannot be read without it`,
    fix: `set SVC_MASTER_KEY in ${file} to the key of this installation, from your copy of the file`,
  };
}

/** True if both are about the same setting: an invalid setting is not reported as missing too. */
function sameSetting(listed: GivenProblem, problem: GivenProblem): boolean {
  return toProblem(listed).message.split(' ')[0] === toProblem(problem).message.split(' ')[0];
}

function find(
  { key, fallback }: Setting,
  { flags = {}, environment }: LoadOptions,
  fromFile: Readonly<Record<string, string>>,
  problems: GivenProblem[],
): { text: string | null; origin: Origin } {
  const flag = flags[key];
  if (flag !== undefined) return { text: flag, origin: 'flag' };
  const direct = environment[key];
  if (direct !== undefined && direct !== '') return { text: direct, origin: 'environment' };
  const path = environment[`${key}_FILE`] ?? fromFile[`${key}_FILE`];
  if (path !== undefined && path !== '') {
    try {
      const text = utf8Text(readSmall(path, fileBytes.value));
      if (text !== undefined) return { text: text.trim(), origin: environment[`${key}_FILE`] ? 'environment' : 'file' };
      problems.push(`${key}_FILE names a file that is not UTF-8: ${path}`);
    } catch (error) {
      problems.push(unreadableFile(`${key}_FILE`, path, error));
    }
    return { text: null, origin: 'unset' };
  }
  const stored = fromFile[key];
  if (stored !== undefined && stored !== '') return { text: stored, origin: 'file' };
  return { text: fallback, origin: fallback === null ? 'unset' : 'default' };
}
