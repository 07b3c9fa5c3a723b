import { isOnLocalhost } from '#src/platform/config/localhost.js';

/** `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8 and ::1, each with or without a port. */
const loopback = /^(([a-z0-9_-]+\.)*localhost\.?|127(\.\d{1,3}){3}|\[::1\])(:\d{0,5})?$/i;

/**
 * Checks the `Host` header against DNS rebinding. CORS does not restrict a page whose domain resolves to this machine, and an installation
 * on localhost has development defaults. So such an installation answers loopback names only. Browsers always send `Host`.
 */
export function createHostRule(baseUrl: string): (host: string | undefined) => boolean {
  if (!isOnLocalhost(baseUrl)) return () => true;
  return (host) => host === undefined || loopback.test(host);
}
