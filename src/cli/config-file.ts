import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { settings } from '#src/platform/config/schema.js';
import { packageFile } from '#src/platform/package-root.js';
import { CommandError } from './exit.js';

/** The commented reference of all settings that `svc init` fills in. */
const template = packageFile('templates/config/svc.env');

/** The text of a configuration file: the template with these values in force, by environment name. */
export function renderConfig(values: Readonly<Record<string, string>>): string {
  const settingNames = Object.values(settings).map(({ key }) => `${key}`);
  let text = readFileSync(template, 'utf8');
  for (const [name, value] of Object.entries(values)) {
    if (/[\r\n]/.test(value))
      throw new CommandError('usage', 'usage_invalid', `${name} holds a line break.`, 'correct the value');
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
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'EEXIST') return false;
    const outcome = code === 'ENOENT' ? 'notFound' : 'unusable';
    throw new CommandError(
      outcome,
      'file_not_writable',
      `${file} cannot be written (${code}).`,
      'create its directory, or choose another file with --config',
    );
  }
  writeSync(descriptor, text);
  closeSync(descriptor);
  return true;
}
