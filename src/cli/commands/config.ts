import type { Config, Setting } from '#src/platform/config/schema.js';
import { settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { command } from '../command.js';
import { maskUrl } from '../database-url.js';
import { columns } from '../output.js';

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
  summary: 'Checks the settings. Exit code 7, with all problems, if any is invalid',
  examples: ['svc config check', 'svc config check --json'],
  needs: 'config',
  run: async ({ loaded: { file } }) => ({
    value: { ok: true, file },
    text: `The settings are valid (${file ?? 'environment and defaults only'}).`,
  }),
});

/** `svc config …` */
export const configCommands = [show, check];

/** The text of a value as it may be shown; null where the setting is unset. */
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
