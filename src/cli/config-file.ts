import {
  accessSync,
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { settings } from '#src/platform/config/schema.js';
import { errorCode } from '#src/platform/files.js';
import { packageFile } from '#src/platform/package-root.js';
import { whyUnwritable } from '#src/platform/system-errors.js';
import { CommandError } from './exit.js';

/** The commented reference of all settings that `svc init` fills in. */
const template = packageFile('templates/config/svc.env');

/** The text of a configuration file: the template with these values in force, by environment name. */
export function renderConfig(values: Readonly<Record<string, string>>): string {
  const settingNames = Object.values(settings).map(({ key }) => `${key}`);
  let text = readFileSync(template, 'utf8');
  for (const [name, value] of Object.entries(values)) {
    if (/[\r\n]/.test(value))
      throw new CommandError('usage', 'usage_invalid', `${name} holds a line break.`, `give ${name} in one line`);
    const key = name.replace(/_FILE$/, '');
    if (!settingNames.includes(key)) throw new Error(`${name} is not a setting`);
    // A function, since a value may hold the signs that replace() takes for patterns.
    text = text.replace(new RegExp(`^#?${key}=.*$`, 'm'), () => `${name}=${value}`);
  }
  return text;
}

/** Writes a configuration file that only its owner can read; false where the file exists already. */
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

/** Changes settings of a configuration file and leaves the rest as it is; null removes one. Its owner and permissions stay. */
export function changeConfig(file: string, values: Readonly<Record<string, string | null>>): void {
  try {
    let lines = readFileSync(file, 'utf8').split('\n');
    for (const [name, value] of Object.entries(values)) {
      const isSet = (line: string) => new RegExp(`^\\s*(export\\s+)?${name}=`).test(line);
      const at = lines.findIndex(isSet);
      const before = lines.indexOf(`#${name}=`);
      const place = at >= 0 ? at : before;
      const entry = value === null ? `#${name}=` : `${name}=${value}`;
      if (place >= 0) lines = lines.map((line, index) => (index === place ? entry : line));
      else if (value !== null) lines = [...lines.slice(0, -1), entry, lines.at(-1) ?? ''];
      lines = lines.filter((line, index) => index === place || !isSet(line) || line === entry);
    }
    replaceFile(file, lines.join('\n'));
  } catch (error) {
    const message = `${file} cannot be changed: ${whyUnwritable(error)}.`;
    throw new CommandError('unusable', 'file_not_writable', message, 'run the command as the owner of the file');
  }
}

/** Whether this user can change a file. */
export function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Puts a whole file in the place of another one, with the same owner and mode: the file holds the master key, and must never be half written. */
function replaceFile(file: string, text: string): void {
  const { mode, uid, gid } = statSync(file);
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, 'wx', mode & 0o777);
  try {
    fchownSync(descriptor, uid, gid);
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, file);
}

/** A configuration file cannot be written. */
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
