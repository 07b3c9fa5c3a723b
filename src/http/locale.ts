import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { localeHeaders } from '#src/contract/headers.js';

/** A language tag (RFC 5646) of reasonable length; other values are ignored. */
const tag = /^[a-z]{2,3}(-[a-z0-9]{1,8}){0,4}$/i;

/** Reads the requested language: first the header of the SDKs, then `Accept-Language` (RFC 9110 §12.5.4). */
export function createLocaleReader(aliases: readonly string[]): (request: IncomingMessage) => string | null {
  const names = localeHeaders(aliases);
  return ({ headers }) => {
    const name = names.find((each) => typeof headers[each] === 'string' && headers[each] !== '');
    if (name === undefined && headers['accept-language'] === undefined) return null;
    const requested = name === undefined ? new Negotiator({ headers }).languages()[0] : headers[name];
    return typeof requested === 'string' && tag.test(requested) ? requested : null;
  };
}
