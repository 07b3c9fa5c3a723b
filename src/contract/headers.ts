/** The brand word of the service's own headers. It appears in this file and nowhere else. */
const brand = 'Service';

const roles = ['Project', 'Session', 'Key', 'JWT'] as const;
type Role = Lowercase<(typeof roles)[number]>;

/** Lower-case header names by role: the service's own name first, then one for each alias of `SVC_HEADER_ALIASES`. */
export type CredentialHeaders = Readonly<Record<Role, readonly string[]>>;

/** The accepted header names for a project id and the three credentials. */
export function credentialHeaders(aliases: readonly string[]): CredentialHeaders {
  const names = (role: string) => [brand, ...aliases].map((word) => `x-${word}-${role}`.toLowerCase());
  return { project: names('project'), session: names('session'), key: names('key'), jwt: names('jwt') };
}

/** The header with the project of a request, as written in messages. */
export const projectHeader = `X-${brand}-Project`;

/** Names of the header in which SDKs request a language. */
export function localeHeaders(aliases: readonly string[]): readonly string[] {
  return [brand, ...aliases].map((word) => `x-${word}-locale`.toLowerCase());
}

/** Names of the header with the file id of a further chunk. */
export function uploadIdHeaders(aliases: readonly string[]): readonly string[] {
  return [brand, ...aliases].map((word) => `x-${word}-id`.toLowerCase());
}

/** Header in which an application's backend, authenticated by its server key, forwards the user agent of the user's browser. */
export const forwardedUserAgent = 'X-Forwarded-User-Agent';

/** Headers that tracing tools such as Sentry and OpenTelemetry add to the calls of a page. */
const traceHeaders = ['Baggage', 'Sentry-Trace', 'Traceparent', 'Tracestate'];

/**
 * Headers that a browser may send across origins: the service's own, those of every alias, those the Appwrite SDKs add to each call, and those of
 * tracing tools.
 */
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
    ...traceHeaders,
  ];
}

/** Response headers with a new session secret, for a caller who sends it in one of them. */
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

/** Response headers that a script of another origin may read. */
export function corsResponseHeaders(aliases: readonly string[]): readonly string[] {
  return [...readableHeaders, ...sessionHeaders(aliases)];
}

/** The session cookie of a project. Has the `__Host-` prefix if the public address is https (RFC 6265bis §4.1.3). */
export function sessionCookieName(projectId: string, secure: boolean): string {
  return `${secure ? '__Host-' : ''}svc_${projectId}`;
}

/** The name of a session in `X-Fallback-Cookies`, used by sockets of SDKs. */
export function fallbackSessionName(projectId: string): string {
  return `a_session_${projectId}`;
}

/** The cookie that binds a login through another site to the browser that started it. */
export function bindingCookieName(id: string, secure: boolean): string {
  return `${secure ? '__Host-' : ''}svc_tx_${id}`;
}

/** The accepted form of a request id; any other value from a client is replaced. */
export const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** The service's own headers of a webhook delivery. */
export const deliveryHeaders = {
  event: `X-${brand}-Event`,
  webhookId: `X-${brand}-Webhook-Id`,
  signature: `X-${brand}-Signature`,
} as const;
