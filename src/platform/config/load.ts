import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode, FileTooLargeError, isAbsent, readSmall, utf8Text } from '../files.js';
import { whyUnreadable } from '../system-errors.js';
import { ConfigError, type GivenProblem, toProblem, unreadableFile } from './config-error.js';
import { problemsBetween } from './cross-field.js';
import { type Config, type Setting, settings } from './schema.js';
import { Secret } from './secret.js';

/** Where a value came from. */
export type Origin = 'flag' | 'environment' | 'file' | 'default' | 'unset';

/** The settings in force with the origin of each, and the file they were read from. */
export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Readonly<Record<keyof Config, Origin>>;
  /** The configuration file that was read; null where there is none. */
  readonly file: string | null;
  /** Names of the environment that look like settings and are none, each with the setting that was probably meant. */
  readonly unknownNames: readonly string[];
  /** Settings that the file has more than once, each with its lines; the last one counts. */
  readonly repeated: readonly { readonly key: string; readonly lines: readonly number[] }[];
}

/** What may name or replace values. */
interface LoadOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `--config FILE`. */
  readonly file?: string | undefined;
  /** Values given as flags, by environment name. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  /** Whether a missing master key is a problem; `svc init` has none yet. */
  readonly needsMasterKey?: boolean;
}

/** Bytes that the file of settings may have, and a file with the value of one. */
const fileBytes = { settings: 1_048_576, value: 65_536 } as const;

/** Where settings are looked for unless a file is named. */
export const defaultFiles = ['svc.env', '/etc/svc/svc.env'];

/**
 * The first default file that exists. One in a current directory that this user may not search cannot be known of, and does not count: the
 * directory is often that of somebody else, in which a shell was.
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

/** The file that holds the configuration: the one named, else the first of the default ones that exists. */
function configFile(options: Pick<LoadOptions, 'environment' | 'file'>): string | null {
  const named = options.file ?? (options.environment.SVC_CONFIG || undefined);
  if (named !== undefined) return resolve(named);
  const found = defaultFile();
  return found === undefined ? null : resolve(found);
}

/** Whether there is an installation: a file with settings, or a master key in the environment, as in a container. */
export function isInstallationInReach(options: Pick<LoadOptions, 'environment' | 'file'>): boolean {
  const { SVC_MASTER_KEY: key, SVC_MASTER_KEY_FILE: keyFile } = options.environment;
  return configFile(options) !== null || [key, keyFile].some((value) => value !== undefined && value !== '');
}

/** Throws ConfigError for a file that cannot be read: without it, other settings would be in force. */
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
  const { values: fromFile, lines } =
    file !== null && !isAbsent(file) ? parseEnvFile(readSettings(file), problems) : noLines;
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

/** No problems: other programs share the environment. */
function unknownNamesIn(environment: LoadOptions['environment']): string[] {
  const settingNames = Object.values(settings).flatMap(({ key }) => [key, `${key}_FILE`]);
  return Object.keys(environment)
    .filter((name) => /^SVC_(?!TEST_|CONFIG$)/.test(name) && !settingNames.includes(name))
    .sort()
    .map((name) => {
      const meant = similar(name, settingNames);
      return meant === undefined ? name : `${name} (did you mean ${meant}?)`;
    });
}

/** No problems: systemd reads such a file too, and takes the last line. */
function repeatedIn(linesOf: EnvFile['lines']): LoadedConfig['repeated'] {
  return Object.entries(linesOf).flatMap(([key, lines]) => (lines.length > 1 ? [{ key, lines }] : []));
}

/** With a file there is an installation already, and `svc init` makes no second key for it. */
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

/** What is wrong by itself is not said to be missing too. */
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

/** What a file of settings has. */
interface EnvFile {
  readonly values: Readonly<Record<string, string>>;
  /** The numbers of the lines that set each of them. */
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

const noLines: EnvFile = { values: {}, lines: {} };

/** KEY=VALUE lines as systemd's EnvironmentFile reads them: `#` comments, optional quotes around the value. */
function parseEnvFile(content: string, problems: GivenProblem[]): EnvFile {
  const settingNames = Object.values(settings).flatMap(({ key }) => [key, `${key}_FILE`]);
  const values: Record<string, string> = {};
  const lines: Record<string, number[]> = {};
  for (const [index, line] of content.split(/\r?\n/).entries()) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const [, key = '', raw = ''] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (key === '') {
      problems.push(`line ${index + 1} of the configuration file is not KEY=VALUE`);
    } else if (key.startsWith('SVC_') && !settingNames.includes(key)) {
      const meant = similar(key, settingNames);
      const advice = meant === undefined ? '' : `; did you mean ${meant}?`;
      problems.push(`${key} in the configuration file is not a setting${advice}`);
    } else {
      values[key] = raw.trim().replace(/^(["'])(.*)\1$/, '$2');
      lines[key] = [...(lines[key] ?? []), index + 1];
    }
  }
  return { values, lines };
}

/** The candidate with the smallest edit distance, where less than half of its letters differ; a farther one was hardly meant. */
export function similar(word: string, candidates: readonly string[]): string | undefined {
  const [found] = [...candidates].sort((a, b) => distance(word, a) - distance(word, b));
  return found !== undefined && distance(word, found) * 2 < Math.max(word.length, found.length) ? found : undefined;
}

/** How many letters have to be changed, added or removed (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[b.length] ?? 0;
}
