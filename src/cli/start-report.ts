import type { Appliance } from '#src/appliance.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { version } from '#src/platform/version.js';

/** When each major version of Node.js stops getting security fixes (nodejs.org, release schedule). */
const endOfLife: Readonly<Record<string, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
};

/** Tells the log what starts, on what, and which settings are not for production. */
export async function reportStart({ runtime }: Appliance, unknownNames: readonly string[]): Promise<void> {
  const { log, driver, config, clock } = runtime;
  const node = process.versions.node;
  log.info('serve.starting', { version: version(), node, database: await driver.describe(), pid: process.pid });
  const ends = endOfLife[node.split('.')[0] ?? ''];
  if (ends !== undefined && Date.parse(ends) < clock.now())
    log.warn('node.end-of-life', { node, since: ends, next: 'install a supported version of Node.js' });
  if (unknownNames.length > 0) log.warn('config.unknown-names', { names: unknownNames.join(', ') });
  const warn = (setting: string, meaning: string) => log.warn('config.not-for-production', { setting, meaning });
  if (config.rateLimit === 'off') warn('SVC_RATE_LIMIT', 'passwords can be guessed without a limit');
  if (config.tokensInResponse === 'any' && !isOnLocalhost(config.baseUrl))
    warn(
      'SVC_TOKENS_IN_RESPONSE',
      'while no mail is configured, anyone who knows an e-mail address can take over its account',
    );
  if (config.allowInsecure)
    warn('SVC_WEBHOOK_ALLOW_INSECURE', 'outbound calls may use http and reach private addresses');
  if (config.egressAllow.length > 0) warn('SVC_EGRESS_ALLOW', 'outbound calls may reach addresses that are not public');
}
