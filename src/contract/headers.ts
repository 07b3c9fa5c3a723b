/** The brand word of the service's own headers. It appears in this file and nowhere else. */
const brand = 'Service';

const roles = ['Project', 'Session', 'Key', 'JWT'] as const;
type Role = Lowercase<(typeof roles)[number]>;

/** Lower-case header names by role, the service's own name first, then one for each alias of `SVC_HEADER_ALIASES`. */
export type CredentialHeaders = Readonly<Record<Role, readonly string[]>>;

/** The names under which a project id and the three credentials are accepted. */
export function credentialHeaders(aliases: readonly string[]): CredentialHeaders {
  const names = (role: string) => [brand, ...aliases].map((word) => `x-${word}-${role}`.toLowerCase());
  return { project: names('project'), session: names('session'), key: names('key'), jwt: names('jwt') };
}

/** The header that names the project of a request, as messages write it. */
export const projectHeader = `X-${brand}-Project`;

/** Names of the header by which SDKs ask for a language. */
export function localeHeaders(aliases: readonly string[]): readonly string[] {
  return [brand, ...aliases].map((word) => `x-${word}-locale`.toLowerCase());
}

/** Names of the header that says to which file a further chunk belongs. */
export function uploadIdHeaders(aliases: readonly string[]): readonly string[] {
  return [brand, ...aliases].map((word) => `x-${word}-id`.toLowerCase());
}

/** In which an application's backend, known by its server key, hands on what the user's browser is. */
export const forwardedUserAgent = 'X-Forwarded-User-Agent';

/** Headers a browser may send across origins: ours, every alias's, and what the Appwrite SDKs add to each call. */
export function corsRequestHeaders(aliases: readonly string[]): readonly string[] {
  const branded = ['Project', 'Session', 'Key', 'JWT', 'ID', 'Locale', 'Timestamp', 'Response-Format', 'Platform'];
  const sdk = ['Version', 'Name', 'Language', 'Platform', 'GraphQL', 'Profile'];
  return [
    'Accept',
    'Authorization',
    'Cache-Control',
    'Content-Range',
    'Content-Type',
    'Idempotency-Key',
    'If-Match',
    'If-None-Match',
    'If-Range',
    'Last-Event-ID',
    'Range',
    'X-Fallback-Cookies',
    'X-Request-Id',
    'X-Requested-With',
    ...[brand, ...aliases].flatMap((word) => branded.map((name) => `X-${word}-${name}`)),
    ...[
      'Dev-Key',
      'Mode',
      'Impersonate-User-Id',
      'Impersonate-User-Email',
      'Impersonate-User-Phone',
      'Organization',
    ].flatMap((name) => aliases.map((word) => `X-${word}-${name}`)),
    ...sdk.map((name) => `X-SDK-${name}`),
  ];
}

/** Headers of an answer that hand a new session secret to a caller who sends it in one of them. */
export function sessionHeaders(aliases: readonly string[]): readonly string[] {
  return [brand, ...aliases].map((word) => `X-${word}-Session`);
}

const readableHeaders = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Fallback-Cookies',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
] as const;

/** Response headers a script of another origin may read. */
export function corsResponseHeaders(aliases: readonly string[]): readonly string[] {
  return [...readableHeaders, ...sessionHeaders(aliases)];
}

/** The session cookie of a project: the `__Host-` prefix wherever the public address is https (RFC 6265bis §4.1.3). */
export function sessionCookieName(projectId: string, secure: boolean): string {
  return `${secure ? '__Host-' : ''}svc_${projectId}`;
}

/** The name under which an SDK's socket finds a session in `X-Fallback-Cookies`. */
export function fallbackSessionName(projectId: string): string {
  return `a_session_${projectId}`;
}

/** The cookie that ties a login through another site to the browser that began it. */
export function bindingCookieName(id: string, secure: boolean): string {
  return `${secure ? '__Host-' : ''}svc_tx_${id}`;
}

/** What a request id may look like; anything else a client sends is replaced. */
export const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** Our own headers of a webhook's delivery. */
export const deliveryHeaders = {
  event: `X-${brand}-Event`,
  webhookId: `X-${brand}-Webhook-Id`,
  signature: `X-${brand}-Signature`,
} as const;
