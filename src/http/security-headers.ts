import type { Page } from '#src/contract/operation.js';
import type { Config } from '#src/platform/config/schema.js';

/** The policy of pages: they may run what carries their nonce, show its images and call the service. A form is held to its targets through redirects too. */
export function pagePolicy({ nonce, formTargets }: Page): string {
  const targets = formTargets === undefined ? "'none'" : ["'self'", ...formTargets].join(' ');
  const own = [
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self'",
    `form-action ${targets}`,
  ];
  return ["default-src 'none'", ...own, "frame-ancestors 'none'", "base-uri 'none'"].join('; ');
}

/** The headers of every response, which is not to be framed, cached or sniffed. */
export function securityHeaders({ baseUrl }: Pick<Config, 'baseUrl'>): readonly (readonly [string, string])[] {
  return [
    ['X-Content-Type-Options', 'nosniff'],
    ['Referrer-Policy', 'no-referrer'],
    ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"],
    ['Cross-Origin-Resource-Policy', 'same-site'],
    ['Cache-Control', 'no-store'],
    ...(baseUrl.startsWith('https:')
      ? ([['Strict-Transport-Security', 'max-age=31536000; includeSubDomains']] as const)
      : []),
  ];
}
