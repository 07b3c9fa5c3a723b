import type { Appliance } from '#src/appliance.js';
import type { Listener } from '#src/http/server.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { type Config, type Setting, settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { tlsFileProblems } from '#src/platform/config/tls-files.js';
import { checkOf } from '#src/platform/crypto/key-ring.js';
import { errorCode } from '#src/platform/runtime/files.js';
import { explain } from '../terminal/exit.js';

/** Settings that a running server changes on SIGHUP. It also reads the files of its certificate again. */
export const reloadable = ['logLevel', 'rateLimit', 'rateLimits'] as const satisfies readonly (keyof Config)[];

/** Settings that only commands use. */
export const ofCommands = ['project', 'updateUrl'] as const satisfies readonly (keyof Config)[];

type Reloadable = (typeof reloadable)[number];

/** Settings of a running server. A reload replaces those that can change without a restart. */
export type LiveConfig = Config & { -readonly [K in Reloadable]: Config[K] };

/** A running server, and how to read its settings again. */
interface Served {
  readonly appliance: Appliance;
  readonly listener: Listener;
  readonly live: LiveConfig;
  /** Reads the settings. Throws ConfigError and CommandError. */
  readonly read: () => LoadedConfig;
}

/**
 * Opens the log file again, then applies the settings file: log level, rate limits, and the files of the certificate. Logs one line of what
 * changed. Invalid settings are refused, and nothing changes.
 */
export function reload({ appliance, listener, live, read }: Served): void {
  const { log } = appliance.runtime;
  reopenLog(appliance);
  try {
    const { config } = read();
    const problems = tlsFileProblems({ ...live, baseUrl: config.baseUrl });
    if (problems.length > 0) throw new ConfigError(problems);
    const different = differences(live, config).filter((name) => name !== 'masterKey' || !usesKey(appliance, config));
    const applied = reloadable.filter((name) => different.includes(name));
    listener.renewCertificate();
    if (live.tlsCert !== undefined) appliance.features.certificate.begin();
    Object.assign(live, Object.fromEntries(reloadable.map((name) => [name, config[name]])));
    log.setLevel(live.logLevel);
    const later = different.filter((name) => !applied.some((one) => one === name));
    log.info('config.reloaded', {
      changed: namesOf(applied) || 'nothing',
      certificate: live.tlsCert === undefined ? undefined : 'read again',
      restart: namesOf(later) || undefined,
    });
  } catch (error) {
    const { message, fix, lines } = explain(error);
    log.error('config.refused', { problem: lines?.join('; ') ?? message, next: fix });
  }
}

function reopenLog({ runtime: { log } }: Appliance): void {
  try {
    log.reopen();
  } catch (error) {
    log.error('log.not-reopened', { code: errorCode(error), next: 'svc doctor' });
  }
}

/** Names of the settings with another value, without those that only commands use. */
function differences(before: Config, after: Config): (keyof Config)[] {
  const names = Object.keys(settings) as (keyof Config)[];
  return names.filter(
    (name) => !ofCommands.some((one) => one === name) && textOf(before[name]) !== textOf(after[name]),
  );
}

/** True if the server has found the key of the settings in their file already, after a rotation. */
function usesKey({ runtime: { sealing } }: Appliance, { masterKey }: Config): boolean {
  return masterKey !== undefined && checkOf(masterKey.bytes) === sealing.keyCheck();
}

function textOf(value: unknown): string {
  return value instanceof Secret ? value.reveal() : (JSON.stringify(value) ?? '');
}

function namesOf(names: readonly (keyof Config)[]): string {
  const table: Readonly<Record<keyof Config, Setting>> = settings;
  return names.map((name) => table[name].key).join(', ');
}
