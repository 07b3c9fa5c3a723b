import { type Config, type Setting, settings } from './schema.js';
import { Secret } from './secret.js';

/** The settings that are no secrets and differ from their defaults, as in a settings file. */
export function givenSettings(config: Config): Record<string, string> {
  const entries = Object.entries(settings) as [keyof Config, Setting][];
  return Object.fromEntries(
    entries.flatMap(([name, { key, schema, fallback }]) => {
      const value: unknown = config[name];
      if (value === undefined || value === null || value instanceof Secret) return [];
      const isDefault = fallback !== null && JSON.stringify(schema.parse(fallback)) === JSON.stringify(value);
      return isDefault ? [] : [[key, textOf(value)]];
    }),
  );
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  if (typeof value !== 'object') return String(value);
  const rates = Object.entries(value as Record<string, { readonly count: number; readonly seconds: number }>);
  return rates.map(([name, { count, seconds }]) => `${name}=${count}/${seconds}`).join(',');
}
