import type { EgressResponse } from '#src/platform/egress-client.js';
import { EgressRefused } from '#src/platform/egress-rules.js';
import type { Runtime } from '#src/platform/index.js';
import { describeNetworkError } from '#src/platform/network-errors.js';

/** Something about a provider that keeps its logins from working, or soon will. */
export interface ProviderFinding {
  readonly code: string;
  /** A warning lets logins work, for now or for most users. */
  readonly level: 'error' | 'warning';
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}

/** Which provider a finding is of. */
interface ProviderName {
  readonly key: string;
  readonly projectId: string;
}

/** A call of a test: the answer, where there was one, and what was wrong with it. */
interface Probed {
  readonly answer: EgressResponse | undefined;
  readonly findings: readonly ProviderFinding[];
}

/** By how much the clocks of both sides may differ, as identity providers commonly tolerate. */
const skewMs = 60_000;

/** Makes the calls of a test by the guarded way out, each bounded in time and size. */
export function createProbe({ egress, clock }: Pick<Runtime, 'egress' | 'clock'>) {
  return async (what: string, url: string, bounds: { timeoutMs: number; maxBytes: number }): Promise<Probed> => {
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

/** The clock of the other side as its `Date` header tells (RFC 9110 §6.6.1), in whole seconds. */
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

/** Each code once: several calls find the same clock. */
export function distinct(findings: readonly ProviderFinding[]): ProviderFinding[] {
  return findings.filter(
    ({ code, message }, at) =>
      findings.findIndex((one) => one.code === code && (code === 'clock_differs' || one.message === message)) === at,
  );
}

/** A provider whose configuration was sealed with another key, or was changed by hand. */
export function unreadable({ key, projectId }: ProviderName): ProviderFinding {
  return {
    code: 'config_unreadable',
    level: 'error',
    message: 'The stored configuration cannot be decrypted.',
    fix: `check SVC_MASTER_KEY; if it is lost, svc provider remove ${key} --project ${projectId} and add the provider anew`,
  };
}

/** A provider that is switched off. */
export function disabled({ key, projectId }: ProviderName): ProviderFinding {
  return {
    code: 'disabled',
    level: 'warning',
    message: 'The provider is disabled: its logins are refused.',
    fix: `svc provider update ${key} --project ${projectId} --enabled on`,
  };
}
