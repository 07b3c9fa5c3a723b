import { basename } from 'node:path';
import { parseDatabaseUrl } from '#src/platform/db/index.js';

/** A URL as it may be shown: user names stay, passwords do not. */
export function maskUrl(url: string): string {
  return url.replace(/(:\/\/[^/?#]*?:).*@/, '$1***@').replace(/([?&](?:ssl)?password=)[^&#]*/gi, '$1***');
}

/** The display name of a database: the file name, or the name on its server. */
export function databaseName(url: string): string {
  const { file } = parseDatabaseUrl(url);
  if (file !== null) return basename(file);
  return URL.canParse(url) ? decodeURIComponent(new URL(url).pathname.slice(1)) : 'postgres';
}
