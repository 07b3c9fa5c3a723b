import { readFileSync } from 'node:fs';
import { similar } from '#src/contract/similar.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import { configFile, loadConfig } from '#src/platform/config/load.js';
import { type Config, type Setting, settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import type { CommandCall } from '../line/command.js';
import { CommandError, unusableError, usageError } from '../terminal/exit.js';
import { changeConfig, changedConfig, type SettingChanges } from './config-file.js';
import { load } from './installation.js';
import { localProblems } from './settings-problems.js';

type Place = Pick<CommandCall, 'environment' | 'configFile'>;

/** The name of a setting in the configuration. `KEY_FILE` is the file that holds the value of KEY. */
export function settingNamed(name: string): keyof Config {
  const entries = Object.entries(settings) as [keyof Config, Setting][];
  const found = entries.find(([, { key }]) => key === name || `${key}_FILE` === name);
  if (found === undefined) {
    const near = similar(
      name.toUpperCase(),
      entries.map(([, { key }]) => key),
    );
    const fix = near === undefined ? 'svc config show lists the settings' : `did you mean ${near}?`;
    throw usageError(`There is no setting ${name}.`, fix);
  }
  if (found[0] === 'masterKey')
    throw usageError(
      'SVC_MASTER_KEY encrypts the stored secrets, so another value makes them unreadable.',
      'to restore the key of this installation, write it into the settings file',
    );
  return found[0];
}

/** Throws if a value cannot be a line of the settings file, is invalid, or is a secret that was given as an argument. */
export function requireValue(name: string, value: string, isArgument: boolean): void {
  const { key, schema } = settings[settingNamed(name)];
  if (value === '') throw usageError(`${name} has an empty value.`, `svc config unset ${name} restores the default`);
  if (/[\r\n]/.test(value)) throw usageError(`The value of ${name} has several lines.`, 'give it in one line');
  if (value !== value.trim() || /^(["']).*\1$/.test(value))
    throw usageError(`The value of ${name} begins or ends with quotes or spaces.`, 'leave them out');
  if (name !== key) return;
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw usageError(`${name} ${parsed.error.issues[0]?.message ?? 'is not valid'}.`);
  if (isArgument && parsed.data instanceof Secret && !isUrlWithoutSecret(key, value))
    throw usageError(
      `${name} can hold a secret. Every user of this machine can read the arguments of a process.`,
      `svc config set ${name} --value-file FILE, or - for stdin`,
    );
}

/**
 * True for the URL of a place that needs no password, such as a file. `s3:` never contains its key. The path and the query of an https URL can
 * be secrets too.
 */
function isUrlWithoutSecret(key: string, value: string): boolean {
  if (!/_URL$|^SVC_FILES_FROM$/.test(key)) return false;
  if (/^(file|sqlite|s3):/.test(value)) return true;
  if (!/^(smtps?|postgres(ql)?):/.test(value) || !URL.canParse(value)) return false;
  const { username, password, search } = new URL(value);
  return [username, password, search].every((part) => part === '');
}

/** The settings file, and what remains to be corrected in it. */
interface Changed {
  readonly file: string;
  readonly isChanged: boolean;
  readonly problems: readonly string[];
}

/** Changes the settings file. Exit 2, and the file unchanged, if the change makes the settings invalid. */
export function changeSettings(place: Place, changes: SettingChanges): Changed {
  const file = fileOf(place);
  const text = readFileSync(file, 'utf8');
  const changed = changedConfig(text, changes);
  const environment = Object.fromEntries(Object.entries(place.environment).filter(([name]) => !(name in changes)));
  const before = problemsOf(file, text, environment);
  const after = problemsOf(file, changed, environment);
  const caused = after.filter((problem) => !before.includes(problem));
  if (caused.length > 0)
    throw new CommandError(
      'usage',
      'configuration_invalid',
      caused.map((problem) => `${problem}.`),
      'the file is unchanged; --and KEY=VALUE changes another setting in the same step',
    );
  if (changed !== text) changeConfig(file, changes);
  return { file, isChanged: changed !== text, problems: after };
}

/** The settings file. Throws if there is none, or if it cannot be read. */
function fileOf(place: Place): string {
  try {
    load(place, { needsMasterKey: false });
  } catch (error) {
    // A file with invalid settings can be corrected.
    if (!(error instanceof ConfigError)) throw error;
  }
  const file = configFile({ environment: place.environment, file: place.configFile });
  if (file !== null) return file;
  throw unusableError(
    'configuration_invalid',
    'There is no settings file to change: the settings come from the environment.',
    'change the environment of the service',
  );
}

function problemsOf(file: string, fileText: string, environment: NodeJS.ProcessEnv): string[] {
  try {
    const { config } = loadConfig({ environment, file, fileText, needsMasterKey: false });
    return localProblems(config).map((problem) => (typeof problem === 'string' ? problem : problem.message));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ message }) => message);
  }
}
