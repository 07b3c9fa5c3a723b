import { z } from 'zod';
import { Secret } from './secret.js';

/** A Postgres URL, with one URL for each server that it names. */
interface PostgresUrls {
  readonly urls: readonly string[];
  /** False if only a server that accepts writes will do: the default if the URL names several servers. */
  readonly anyServer: boolean;
}

const several = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/;

/**
 * Splits a URL in the form of libpq, such as `postgres://user@one:5432,two:5432/name?target_session_attrs=read-write`. Undefined if it is
 * not valid. (PostgreSQL, Connection URIs)
 */
export function parsePostgresUrl(url: string): PostgresUrls | undefined {
  const [, before = '', hosts = '', after = ''] = several.exec(url) ?? [];
  const urls = hosts.split(',').map((host) => before + host + after);
  // In the form that the driver parses.
  const parsed = urls.map((one) =>
    URL.canParse(one.replaceAll(' ', '%20')) ? new URL(one.replaceAll(' ', '%20')) : null,
  );
  if (before === '' || parsed.includes(null)) return undefined;
  if (urls.length > 1 && hosts.split(',').includes('')) return undefined;
  return { urls, anyServer: parsed[0]?.searchParams.get('target_session_attrs') === 'any' };
}

/** What a server must accept; libpq's other words ask for a standby. */
const attributes = ['any', 'read-write', 'primary'];

/** The `target_session_attrs` of a URL that the service does not support; undefined if there is none. */
function unsupportedAttribute(url: string): string | undefined {
  const value = /[?&]target_session_attrs=([^&#]*)/.exec(url)?.[1];
  return value === undefined || attributes.includes(value) ? undefined : value;
}

/** Schema of the URL of a database, SQLite or Postgres. */
export const databaseUrl = z
  .string()
  .refine((value) => /^(sqlite:.+|postgres(ql)?:\/\/.+)/.test(value), 'must be sqlite:FILE or postgres://…')
  .refine(
    (value) => value.startsWith('sqlite:') || parsePostgresUrl(value) !== undefined,
    'is not a valid URL: check its hosts and ports, and percent-encode the special characters of its password (/ is %2F)',
  )
  .refine(
    (value) => unsupportedAttribute(value) === undefined,
    'must have read-write, primary or any as target_session_attrs: the service writes',
  )
  .refine(
    (value) => !/[?&]host=[^&#]*,/.test(value),
    'must name several hosts before the database: postgres://one:5432,two:5432/name',
  )
  .transform((value) => new Secret(value));

/** Schema of the URL of a standby. */
export const standbyUrl = z
  .string()
  .refine(
    (value) => /^postgres(ql)?:\/\/.+/.test(value) && parsePostgresUrl(value)?.urls.length === 1,
    'must be postgres://… and name one server',
  )
  .transform((value) => new Secret(value));
