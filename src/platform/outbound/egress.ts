import { isIP } from 'node:net';
import { Failure } from '#src/contract/errors.js';
import { lazy } from '../runtime/lazy.js';
import type { Metrics } from '../runtime/metrics.js';
import type { EgressRequest, EgressResponse } from './egress-client.js';
import { addressRule, type EgressOptions, EgressRefused, isPlainlyWritten, isPublicName } from './egress-rules.js';

/** The only way to send outbound requests: public addresses over https, no redirects, bounded in time and size. */
export interface Egress {
  /** Throws EgressRefused if a rule forbids the address, any other error if the call fails. */
  request(call: EgressRequest): Promise<EgressResponse>;
  /** Throws Failure `general_argument_invalid` naming the broken rule, for URLs that callers register. */
  check(url: string): void;
  close(): Promise<void>;
}

const insecure = 'only https is allowed; SVC_WEBHOOK_ALLOW_INSECURE=true allows http too, for development';

/**
 * Creates the guarded egress. Literal addresses never reach a DNS hook, so they are checked in the URL and again on the connected socket.
 */
export function createEgress(options: EgressOptions, metrics: Metrics): Egress {
  const isAllowed = addressRule(options);
  const client = lazy(async () => {
    const { createEgressClient } = await import('./egress-client.js');
    return createEgressClient(isAllowed, options);
  });

  const ruleAgainst = (url: string): string | undefined => {
    if (!URL.canParse(url)) return 'it is not a URL';
    const { protocol, username, password, hash, hostname, port } = new URL(url);
    if (options.allowInsecure ? !/^https?:$/.test(protocol) : protocol !== 'https:')
      return options.allowInsecure ? 'only https and http are allowed' : insecure;
    if (username !== '' || password !== '') return 'it must not hold a user name or password';
    if (hash !== '') return 'it must not hold a fragment';
    if (!isPlainlyWritten(url)) return 'it must not hold a backslash, white space, or a host that is encoded';
    if (port !== '' && !['443', '8443'].includes(port) && Number(port) < 1024)
      return 'the port must be 443, 8443 or 1024 and above';
    const address = hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0) return isAllowed(address) ? undefined : 'the address is not public';
    return options.allowInsecure || isPublicName(hostname) ? undefined : 'the host name is not public';
  };

  const call = async (request: EgressRequest): Promise<EgressResponse> => {
    const rule = ruleAgainst(request.url);
    if (rule !== undefined) throw new EgressRefused(rule);
    return (await client.get()).send(request);
  };

  return {
    request: async (request) => {
      try {
        const response = await call(request);
        metrics.egress(request.purpose, 'ok');
        return response;
      } catch (error) {
        metrics.egress(request.purpose, error instanceof EgressRefused ? 'refused' : 'failed');
        throw error;
      }
    },
    check: (url) => {
      const rule = ruleAgainst(url);
      if (rule !== undefined)
        throw new Failure('general_argument_invalid', {
          message: `The URL cannot be used: ${rule}.`,
          cause: new EgressRefused(rule),
        });
    },
    close: async () => {
      if (client.isMade()) await (await client.get()).close();
    },
  };
}
