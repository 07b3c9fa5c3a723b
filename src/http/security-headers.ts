import type { Config } from '#src/platform/config/schema.js';

/** What a page of ours may do: run what carries its nonce, and call the service. */
export function pagePolicy(nonce: string): string {
  const own = [`script-src 'nonce-${nonce}'`, `style-src 'nonce-${nonce}'`, "connect-src 'self'", "form-action 'none'"];
  return ["default-src 'none'", ...own, "frame-ancestors 'none'", "base-uri 'none'"].join('; ');
}

/** What every answer carries; an API's answers are neither framed nor cached nor sniffed. */
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
