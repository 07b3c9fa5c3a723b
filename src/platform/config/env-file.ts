import { similar } from '#src/contract/similar.js';
import type { GivenProblem } from './config-error.js';
import { settingNames } from './schema.js';

/** Content of a settings file. */
export interface EnvFile {
  readonly values: Readonly<Record<string, string>>;
  /** The numbers of the lines that set each setting. */
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

/** A settings file without lines. */
export const noLines: EnvFile = { values: {}, lines: {} };

/** Parses KEY=VALUE lines like systemd's EnvironmentFile: `#` comments, optional quotes around the value. */
export function parseEnvFile(content: string, problems: GivenProblem[]): EnvFile {
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
