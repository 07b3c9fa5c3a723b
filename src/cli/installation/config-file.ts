import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { settings } from '#src/platform/config/schema.js';
import { errorCode } from '#src/platform/runtime/files.js';
import { packageFile } from '#src/platform/runtime/package-root.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { CommandError, unusableError } from '../terminal/exit.js';

/** The commented template of all settings, which `svc init` fills in. */
const template = packageFile('templates/config/svc.env');

/** Renders a configuration file: the template with these settings, by environment name. */
export function renderConfig(values: Readonly<Record<string, string>>): string {
  const settingNames = Object.values(settings).map(({ key }) => `${key}`);
  let text = readFileSync(template, 'utf8');
  for (const [name, value] of Object.entries(values)) {
    if (/[\r\n]/.test(value))
      throw new CommandError('usage', 'usage_invalid', `${name} holds a line break.`, `give ${name} in one line`);
    const key = name.replace(/_FILE$/, '');
    if (!settingNames.includes(key)) throw new Error(`${name} is not a setting`);
    // A function, because replace() interprets `$` in a replacement string.
    text = text.replace(new RegExp(`^#?${key}=.*$`, 'm'), () => `${name}=${value}`);
  }
  return text;
}

/** Writes a configuration file with mode 0600. Returns false if the file exists. */
export function writeConfig(file: string, text: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw fileProblem(file, error);
  }
  writeSync(descriptor, text);
  closeSync(descriptor);
  return true;
}

/** Changes settings in a configuration file; null removes a setting. Keeps the rest of the file, its owner and its mode. */
export function changeConfig(file: string, values: SettingChanges): void {
  try {
    replaceFile(realpathSync(file), changedConfig(readFileSync(file, 'utf8'), values));
  } catch (error) {
    const message = `${file} cannot be changed: ${whyUnwritable(error)}.`;
    throw unusableError('file_not_writable', message, 'run the command as the owner of the file');
  }
}

/** New values by environment name; null removes a setting. */
export type SettingChanges = Readonly<Record<string, string | null>>;

/** The text of a configuration file with changed settings. A commented line of the same setting is replaced, and restored on removal. */
export function changedConfig(text: string, values: SettingChanges): string {
  let lines = text.split('\n');
  for (const [name, value] of Object.entries(values)) {
    const isSet = (line: string) => new RegExp(`^\\s*(export\\s+)?${name}=`).test(line);
    const at = lines.findIndex(isSet);
    const place = at >= 0 ? at : lines.findIndex((line) => line.startsWith(`#${name}=`));
    const entry = value === null ? `#${name}=${defaultOf(name)}` : `${name}=${value}`;
    if (value === null && at === -1) continue;
    if (place >= 0) lines = lines.map((line, index) => (index === place ? entry : line));
    else lines = lines.at(-1) === '' ? [...lines.slice(0, -1), entry, ''] : [...lines, entry, ''];
    lines = lines.filter((line, index) => index === place || !isSet(line) || line === entry);
  }
  return lines.join('\n');
}

function defaultOf(name: string): string {
  return Object.values(settings).find(({ key }) => key === name)?.fallback ?? '';
}

/** True if the current user can replace the file. */
export function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Replaces a file atomically and keeps its owner and mode. It contains the master key and must never be partially written. */
export function replaceFile(file: string, text: string): void {
  const { mode, uid, gid } = statSync(file);
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, 'wx', mode & 0o777);
  try {
    fchownSync(descriptor, uid, gid);
    // The umask would take access from the group.
    fchmodSync(descriptor, mode & 0o777);
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, file);
}

/** Error for a configuration file that cannot be written. */
export function fileProblem(file: string, error: unknown): CommandError {
  const isPathWrong = errorCode(error) === 'ENOENT';
  return new CommandError(
    isPathWrong ? 'notFound' : 'unusable',
    'file_not_writable',
    `${file} cannot be written: ${whyUnwritable(error)}.`,
    isPathWrong
      ? 'create its directory, or choose another file with --config'
      : 'run the command as a user who may write there, or choose another file with --config',
  );
}
