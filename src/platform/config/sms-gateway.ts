import { z } from 'zod';
import { Secret } from './secret.js';

/** Address and credentials of the SMS gateway. */
export type SmsGateway =
  | { readonly kind: 'http'; readonly url: string; readonly authorization: string | null }
  | {
      readonly kind: 'twilio';
      readonly account: string;
      readonly token: string;
      /** A number, or the id of a messaging service. */
      readonly from: string;
      /** Base URL of Twilio's API; null: the public one. */
      readonly api: string | null;
    };

/** The Authorization header for a name and a password (RFC 7617). */
export function basicAuthorization(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

/** Parses `https://USER:PASSWORD@HOST/PATH` or `twilio://SID:TOKEN@/?from=NUMBER`; undefined for anything else. */
export function parseSmsGateway(text: string): SmsGateway | undefined {
  if (text.startsWith('twilio:')) return parseTwilio(text);
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!['https:', 'http:'].includes(url.protocol)) return undefined;
  const [name, password] = [decoded(url.username), decoded(url.password)];
  if (name === undefined || password === undefined) return undefined;
  url.username = '';
  url.password = '';
  url.hash = '';
  return { kind: 'http', url: url.href, authorization: name === '' ? null : basicAuthorization(name, password) };
}

/** Not parsed as a WHATWG URL, which requires a host after credentials. */
function parseTwilio(text: string): SmsGateway | undefined {
  const [, sid = '', secret = '', query = ''] = /^twilio:\/\/([^:@/?#]+):([^:@/?#]+)@\/?\?([^#]*)$/.exec(text) ?? [];
  const [account, token] = [decoded(sid), decoded(secret)];
  // Otherwise the plus sign of a number would be read as a space.
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'));
  const from = parameters.get('from') ?? '';
  const api = parameters.get('api');
  const isKnown = [...parameters.keys()].every((name) => ['from', 'api'].includes(name));
  if (!account || !token || !isKnown || !/^(\+\d{5,15}|MG[0-9a-zA-Z]+|[A-Za-z0-9 ]{1,11})$/.test(from))
    return undefined;
  if (api !== null && !(URL.canParse(api) && /^https?:$/.test(new URL(api).protocol))) return undefined;
  return { kind: 'twilio', account, token, from, api: api === null ? null : api.replace(/\/$/, '') };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Schema of the URL of an SMS gateway. */
export const smsUrl = z
  .string()
  .refine(
    (value) => parseSmsGateway(value) !== undefined,
    'must be https://USER:PASSWORD@HOST/PATH or twilio://SID:TOKEN@/?from=NUMBER',
  )
  .transform((value) => new Secret(value));
