import type { Runtime } from '#src/platform/index.js';
import type { EgressResponse } from '#src/platform/outbound/egress-client.js';
import { EgressRefused } from '#src/platform/outbound/egress-rules.js';
import { describeNetworkError } from '#src/platform/outbound/network-errors.js';

/** A problem that prevents logins with a provider, now or soon. */
export interface ProviderFinding {
  readonly code: string;
  /** A warning does not prevent logins yet, or only for some users. */
  readonly level: 'error' | 'warning';
  readonly message: string;
  /** The remedy. */
  readonly fix: string;
}

/** Identifies the provider of a finding. */
interface ProviderName {
  readonly key: string;
  readonly projectId: string;
}

/** Result of a test call: the response, if any, and the problems found. */
interface Probed {
  readonly answer: EgressResponse | undefined;
  readonly findings: readonly ProviderFinding[];
}

/** Clock difference that identity providers commonly tolerate. */
const skewMs = 60_000;

/** A call of a test. */
export type Probe = (what: string, url: string, bounds: { timeoutMs: number; maxBytes: number }) => Promise<Probed>;

/** Makes the calls of a test through the egress guard, limited in time and size. */
export function createProbe({ egress, clock }: Pick<Runtime, 'egress' | 'clock'>): Probe {
  return async (what, url, bounds) => {
    const begun = clock.now();
    try {
      const answer = await egress.request({ method: 'GET', url, purpose: 'provider-test', ...bounds });
      return { answer, findings: clockFindings(answer, begun, clock.now()) };
    } catch (error) {
      const isRefused = error instanceof EgressRefused;
      const finding: ProviderFinding = {
        code: isRefused ? 'address_refused' : 'unreachable',
        level: 'error',
        message: `${what} ${url} cannot be called: ${describeNetworkError(error)}.`,
        fix: isRefused
          ? 'correct the address, or let the service call it: SVC_EGRESS_ALLOW, for development SVC_WEBHOOK_ALLOW_INSECURE'
          : 'check the address, and from this machine the DNS, the firewall and the certificate: curl -v with the address',
      };
      return { answer: undefined, findings: [finding] };
    }
  };
}

/** Compares the clocks by the response's `Date` header (RFC 9110 §6.6.1), which has whole seconds. */
function clockFindings({ headers }: EgressResponse, begunMs: number, endedMs: number): ProviderFinding[] {
  const theirs = Date.parse(String(headers.date ?? ''));
  const isAway = theirs < begunMs - skewMs - 1000 || theirs > endedMs + skewMs;
  if (!isAway) return [];
  const seconds = Math.round(Math.abs(theirs - endedMs) / 1000);
  const finding: ProviderFinding = {
    code: 'clock_differs',
    level: 'error',
    message: `The clock of this machine is ${seconds} seconds ${theirs > endedMs ? 'behind' : 'ahead of'} that of the provider.`,
    fix: 'let NTP set the clock of this machine: timedatectl set-ntp true',
  };
  return [finding];
}

/** Removes duplicates; a clock difference is reported once even if several calls find it. */
export function distinct(findings: readonly ProviderFinding[]): ProviderFinding[] {
  return findings.filter(
    ({ code, message }, at) =>
      findings.findIndex((one) => one.code === code && (code === 'clock_differs' || one.message === message)) === at,
  );
}

/** Finding for a provider whose configuration was sealed with another key or changed by hand. */
export function unreadableConfig({ key, projectId }: ProviderName): ProviderFinding {
  return {
    code: 'config_unreadable',
    level: 'error',
    message: 'The stored configuration cannot be decrypted.',
    fix: `check SVC_MASTER_KEY; if it is lost, svc provider remove ${key} --project ${projectId} and add the provider anew`,
  };
}

/** Finding for a disabled provider. */
export function disabled({ key, projectId }: ProviderName): ProviderFinding {
  return {
    code: 'disabled',
    level: 'warning',
    message: 'The provider is disabled: its logins are refused.',
    fix: `svc provider update ${key} --project ${projectId} --enabled on`,
  };
}
