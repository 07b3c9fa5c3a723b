import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { localeHeaders } from '#src/contract/headers.js';

/** A language tag (RFC 5646) of reasonable length; anything else says nothing. */
const tag = /^[a-z]{2,3}(-[a-z0-9]{1,8}){0,4}$/i;

/** Reads the language that a request asks for: the SDKs' header first, then the browser's preferences (RFC 9110 §12.5.4). */
export function createLocale(aliases: readonly string[]): (request: IncomingMessage) => string | null {
  const names = localeHeaders(aliases);
  return ({ headers }) => {
    const name = names.find((one) => typeof headers[one] === 'string' && headers[one] !== '');
    if (name === undefined && headers['accept-language'] === undefined) return null;
    const wanted = name === undefined ? new Negotiator({ headers }).languages()[0] : headers[name];
    return typeof wanted === 'string' && tag.test(wanted) ? wanted : null;
  };
}
