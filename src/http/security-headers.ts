import type { HtmlPage } from '#src/contract/browser.js';
import type { Config } from '#src/platform/config/schema.js';

/** The Content Security Policy of a mail, which is foreign HTML. */
const mailPolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "frame-ancestors 'self'",
  "base-uri 'none'",
].join('; ');

/**
 * The Content Security Policy of a page. Allows scripts and styles with the nonce, images of the service and calls to it. `form-action`
 * also applies to redirects, so it lists all form targets. The viewers for developers set `style` attributes, which have no nonce; their
 * scripts need the nonce all the same.
 */
export function pagePolicy({ nonce, formTargets, hasFrames, hasViewer, isMail }: HtmlPage): string {
  if (isMail) return mailPolicy;
  const targets = formTargets === undefined ? "'none'" : ["'self'", ...formTargets].join(' ');
  const own = [
    `script-src 'nonce-${nonce}'`,
    hasViewer ? "style-src 'self' 'unsafe-inline'" : `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    hasViewer ? "img-src 'self' data: blob:" : "img-src 'self'",
    `form-action ${targets}`,
    ...(hasFrames ? ["frame-src 'self'"] : []),
    ...(hasViewer ? ["font-src 'self'", "worker-src 'self'"] : []),
  ];
  return ["default-src 'none'", ...own, "frame-ancestors 'none'", "base-uri 'none'"].join('; ');
}

/** The headers of every response, which prevent framing, caching and content sniffing. */
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
