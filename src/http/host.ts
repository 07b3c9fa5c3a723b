import { isOnLocalhost } from '#src/platform/config/localhost.js';

/** `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8 and ::1, each with or without a port. */
const loopback = /^(([a-z0-9_-]+\.)*localhost\.?|127(\.\d{1,3}){3}|\[::1\])(:\d{0,5})?$/i;

/**
 * Checks the `Host` of requests against DNS rebinding: a page whose name is made to resolve to this machine is not bound by CORS, and an
 * installation on localhost has the defaults of development, so it answers names of the loopback only. Browsers always send `Host`.
 */
export function createHostRule(baseUrl: string): (host: string | undefined) => boolean {
  if (!isOnLocalhost(baseUrl)) return () => true;
  return (host) => host === undefined || loopback.test(host);
}
