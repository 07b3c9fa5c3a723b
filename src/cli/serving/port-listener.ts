import type { Config } from '#src/platform/config/schema.js';
import { requestLocally } from './local-request.js';

/** Requests `/healthz` to find out if svc, another program or nothing listens on the configured port. */
export function listenerOn(config: Config): Promise<'svc' | 'other' | 'nobody'> {
  return requestLocally(config, '/healthz', 1000).then(
    ({ text }) => (text === '{"status":"ok"}' ? 'svc' : 'other'),
    (error: Error) => (isRefused(error) ? 'nobody' : 'other'),
  );
}

/** If a name has two addresses, Node reports both failures in one error. */
function isRefused(error: Error): boolean {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  const codes = errors.map((one) => (one instanceof Error && 'code' in one ? one.code : undefined));
  return codes.every((code) => ['ECONNREFUSED', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(String(code)));
}
