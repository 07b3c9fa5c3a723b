import type { IncomingMessage } from 'node:http';
import { Failure } from '#src/contract/errors.js';
import { serverLimits } from '#src/contract/limits.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Config } from '#src/platform/config/schema.js';
import type { Middleware } from './request-context.js';

const close = { Connection: 'close' };

/** `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8 and ::1, each with or without a port. */
const loopback = /^(([a-z0-9_-]+\.)*localhost\.?|127(\.\d{1,3}){3}|\[::1\])(:\d{0,5})?$/i;

/**
 * Rejects requests with an ambiguous head or an unknown host. An installation on localhost has development defaults, and CORS does not
 * restrict a page whose domain resolves to this machine (DNS rebinding). So it answers loopback names only. Browsers always send `Host`.
 */
export function createHeadRules(config: Pick<Config, 'baseUrl'>): Middleware {
  const isLocal = isOnLocalhost(config.baseUrl);
  return (ctx, next) => {
    requirePlainHead(ctx.req);
    const { host } = ctx.req.headers;
    if (isLocal && host !== undefined && !loopback.test(host)) throw new Failure('general_host_unknown');
    return next();
  };
}

/**
 * Throws Failure for a request head that a proxy could interpret differently: several `Host` fields (Node reports the first), HTTP/1.1
 * without one (RFC 9112 §3.2), or more fields than Node reports. The connection is closed after the response.
 */
function requirePlainHead({ rawHeaders, httpVersion }: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): void {
  if (rawHeaders.length > 2 * serverLimits.headers) throw new Failure('general_headers_too_large', { headers: close });
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0'))
    throw new Failure('general_argument_invalid', {
      message: `The request has ${hosts > 1 ? 'more than one' : 'no'} Host header.`,
      headers: close,
    });
}
