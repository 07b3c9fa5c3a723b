import { basePath } from '#src/http/paths.js';
import type { Config } from '#src/platform/config/schema.js';

/** The URL of the API on this machine. Behind a proxy, SVC_BASE_URL is the public one. */
export function localUrl({ host, tlsCert }: Pick<Config, 'host' | 'tlsCert'>, port: number): string {
  const isEverywhere = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isEverywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tlsCert === undefined ? 'http' : 'https'}://${name}:${port}${basePath}`;
}
