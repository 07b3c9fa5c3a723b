import type { IncomingMessage } from 'node:http';
import { Failure } from '#src/contract/errors.js';
import { serverLimits } from '#src/contract/limits.js';
import type { Config } from '#src/platform/config/schema.js';
import { createHostRule } from './host.js';
import type { Middleware } from './request-context.js';

const close = { Connection: 'close' };

/** Rejects requests with an ambiguous head or an unknown host. */
export function createHeadRules(config: Pick<Config, 'baseUrl'>): Middleware {
  const isKnownHost = createHostRule(config.baseUrl);
  return (ctx, next) => {
    requirePlainHead(ctx.req);
    if (!isKnownHost(ctx.req.headers.host)) throw new Failure('general_host_unknown');
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
