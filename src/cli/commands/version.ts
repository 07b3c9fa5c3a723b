import { z } from 'zod';
import type { Config } from '#src/platform/config/schema.js';
import { createEgress } from '#src/platform/outbound/egress.js';
import { EgressRefused } from '#src/platform/outbound/egress-rules.js';
import { createMetrics } from '#src/platform/runtime/metrics.js';
import { isNewer, origin, version } from '#src/platform/runtime/version.js';
import { load } from '../installation/installation.js';
import { type CommandResult, command } from '../line/command.js';
import { CommandError, unreachableError, unusableError } from '../terminal/exit.js';

const limits = { timeoutMs: 10_000, maxBytes: 65_536 } as const;
const versionForm = /^v?(\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,40})?)$/;
const answerForm = z.object({ version: z.string().regex(versionForm) });

/** `svc version` */
export const versionCommand = command({
  path: 'version',
  summary: 'Prints the versions of svc and Node.js and, if known, the commit and the release archive of this build',
  options: [{ flag: '--check', summary: 'compare with the newest version, by one request to SVC_UPDATE_URL' }],
  examples: ['svc version', 'svc version --json'],
  needs: 'nothing',
  run: async (call) => {
    if (call.args.isSet('--check')) return checked(load(call, { needsMasterKey: false }).config);
    const { archive, commit = null } = origin();
    const { node } = process.versions;
    const known = [`Node.js ${node}`, ...(archive ? [archive] : []), ...(commit ? [`commit ${commit}`] : [])];
    return {
      value: { version: version(), node, ...(archive ? { archive } : {}), commit },
      text: `svc ${version()} (${known.join(', ')})`,
    };
  },
});

async function checked(config: Config): Promise<CommandResult> {
  if (config.updateUrl === undefined)
    throw unusableError(
      'update_url_missing',
      'SVC_UPDATE_URL is not set, so nothing was requested.',
      'set SVC_UPDATE_URL to a URL that returns {"version":"1.2.3"}',
    );
  const latest = await latestAt(config.updateUrl, config);
  const newer = isNewer(latest, version());
  const text = newer
    ? `Version ${latest} is available; this is ${version()}.`
    : `This is version ${version()}, and ${latest} is the newest one known.`;
  return { value: { version: version(), latest, newer }, text };
}

/** The version that a URL returns: `{"version":"1.2.3"}`, or the number alone. Throws CommandError. */
async function latestAt(url: string, { egressAllow, allowInsecure }: Config): Promise<string> {
  const egress = createEgress({ allow: egressAllow, allowInsecure, longestMs: limits.timeoutMs }, createMetrics());
  try {
    const { status, body } = await egress.request({ method: 'GET', url, purpose: 'update', ...limits });
    if (status !== 200) throw unanswered(`it answered with the status ${status}`);
    const found = versionIn(body.toString());
    if (found === undefined) throw unanswered('its answer holds no version');
    return found;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw unanswered(error instanceof EgressRefused ? error.message : 'it did not answer within 10 seconds');
  } finally {
    await egress.close();
  }
}

function versionIn(text: string): string | undefined {
  const plain = versionForm.exec(text.trim())?.[1];
  if (plain !== undefined) return plain;
  try {
    return versionForm.exec(answerForm.parse(JSON.parse(text)).version)?.[1];
  } catch {
    return undefined;
  }
}

function unanswered(reason: string): CommandError {
  return unreachableError(
    'update_unknown',
    `SVC_UPDATE_URL gave no version: ${reason}.`,
    'check the URL with curl; svc config show --origin shows where it is set',
  );
}
