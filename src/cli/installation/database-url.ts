import { basename } from 'node:path';
import { parsePostgresUrl } from '#src/platform/config/postgres-url.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';

/** Masks the passwords in a URL, but not the user names. */
export function maskUrl(url: string): string {
  return url.replace(/(:\/\/[^/?#]*?:).*@/, '$1***@').replace(/([?&](?:ssl)?password=)[^&#]*/gi, '$1***');
}

/** True for a URL that must not be an argument, because it contains a password. */
export function holdsPassword(url: string): boolean {
  return /:\/\/[^/?#]*:.*@|[?&](?:ssl)?password=/i.test(url);
}

/** The display name of a database: the file name, or the name on the server. */
export function databaseName(url: string): string {
  const { file } = parseDatabaseUrl(url);
  if (file !== null) return basename(file);
  const [first] = parsePostgresUrl(url)?.urls ?? [];
  return first === undefined ? 'postgres' : decodeURIComponent(new URL(first).pathname.slice(1));
}
