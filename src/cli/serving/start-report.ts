import type { Appliance } from '#src/appliance.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { isAtOtherPort, isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Config } from '#src/platform/config/schema.js';
import { leastMemory, memoryLimit } from '#src/platform/runtime/memory.js';
import { version } from '#src/platform/runtime/version.js';

const mebibyte = 1024 * 1024;

/** End of security fixes for each major version of Node.js (nodejs.org, release schedule). */
const endOfLife: Readonly<Record<string, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
};

/** The date since which this version of Node.js gets no security fixes; undefined if it is supported. */
export function nodeUnsupportedSince(nowMs: number): string | undefined {
  const ends = endOfLife[process.versions.node.split('.')[0] ?? ''];
  return ends !== undefined && Date.parse(ends) < nowMs ? ends : undefined;
}

/** The problem and its fix if this process may use too little memory. */
export function memoryProblem({ bytes, source } = memoryLimit()) {
  if (bytes >= leastMemory) return undefined;
  const [limit, least] = [bytes, leastMemory].map((one) => Math.floor(one / mebibyte));
  if (source === 'heap') {
    const message = `The heap of Node.js is limited to ${Math.floor(bytes / 2 / mebibyte)} MiB; large responses need ${leastMemory / 2 / mebibyte} MiB.`;
    return { message, fix: 'raise --max-old-space-size in NODE_OPTIONS, or remove it' };
  }
  const message = `This process may use ${limit} MiB of memory; large responses and images need ${least} MiB.`;
  const fix =
    source === 'cgroup'
      ? 'raise the memory limit of the container, or MemoryMax of the unit'
      : 'use a machine with more memory';
  return { message, fix };
}

/** Lists the settings that are unsuitable for production, with the code of `svc doctor`. */
export function settingsAtRisk(config: Config) {
  const risks = [
    {
      setting: 'SVC_RATE_LIMIT',
      code: 'rate_limit_off',
      meaning: 'passwords can be guessed without a limit',
      fix: 'remove SVC_RATE_LIMIT from the settings',
      isTaken: !config.rateLimit,
    },
    {
      setting: 'SVC_TOKENS_IN_RESPONSE',
      code: 'tokens_in_response',
      meaning: 'while no mail is configured, anyone who knows an email address can take over its account',
      fix: 'remove SVC_TOKENS_IN_RESPONSE from the settings, and configure SVC_SMTP_URL',
      isTaken: config.tokensInResponse === 'any' && !isOnLocalhost(config.baseUrl),
    },
    {
      setting: 'SVC_WEBHOOK_ALLOW_INSECURE',
      code: 'insecure_targets',
      meaning: 'outbound calls may use http and reach private addresses',
      fix: 'remove SVC_WEBHOOK_ALLOW_INSECURE from the settings; SVC_EGRESS_ALLOW names single addresses',
      isTaken: config.allowInsecure,
    },
    {
      setting: 'SVC_EGRESS_ALLOW',
      code: 'private_targets',
      meaning: 'outbound calls may reach addresses that are not public',
      fix: 'nothing, if applications need these addresses',
      isTaken: config.egressAllow.length > 0,
    },
  ] as const;
  return risks.filter(({ isTaken }) => isTaken);
}

/** Logs the versions, the database, and settings that are unsuitable for production. */
export async function reportStart(
  { runtime }: Appliance,
  { unknownNames, repeated }: Pick<LoadedConfig, 'unknownNames' | 'repeated'>,
): Promise<void> {
  const { log, driver, config, clock } = runtime;
  const node = process.versions.node;
  log.info('serve.starting', { version: version(), node, database: await driver.describe(), pid: process.pid });
  const since = nodeUnsupportedSince(clock.now());
  if (since !== undefined)
    log.warn('node.end-of-life', { node, since, next: 'install a supported version of Node.js' });
  const memory = memoryProblem();
  if (memory !== undefined) log.warn('memory.limit', { problem: memory.message, next: memory.fix });
  if (unknownNames.length > 0) log.warn('config.unknown-names', { names: unknownNames.join(', ') });
  for (const { key, lines } of repeated) log.warn('config.repeated-name', { setting: key, lines: lines.join(', ') });
  for (const { setting, meaning } of settingsAtRisk(config))
    log.warn('config.not-for-production', { setting, meaning });
  const { baseUrl, port } = config;
  if (isAtOtherPort(baseUrl, port))
    log.warn('config.base-url-port', {
      baseUrl,
      port,
      next: 'let SVC_BASE_URL name the port, unless a proxy forwards',
    });
}
