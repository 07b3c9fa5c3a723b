import { isIP } from 'node:net';
import { z } from 'zod';
import { type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import { Secret } from './secret.js';
import { parseSender } from './sender.js';

/** Words separated by commas; `none` is the empty list, because an empty value counts as unset. */
export const list = (text: string) =>
  (text.trim() === 'none' ? '' : text)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** A whole number within bounds. */
export const wholeNumberIn = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);

/** A switch; both spellings of its two values mean the same. */
export const flag = z.enum(['on', 'off', 'true', 'false']).transform((value) => value === 'on' || value === 'true');

/** Networks, separated by commas. */
export const cidrs = z
  .string()
  .transform(list)
  .refine(
    (values) =>
      values.every((value) => {
        const [net = '', prefix = ''] = value.split('/');
        const family = isIP(net);
        return family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32);
      }),
    'must be CIDRs such as 10.0.0.0/8, separated by commas',
  );

/** Rates of limit classes, as `class=count/seconds`, separated by commas. */
export const rateOverrides = z.string().transform((text, context) => {
  const rates: Partial<Record<LimitName, Rate>> = {};
  for (const part of list(text)) {
    const [, name = '', count = '', seconds = ''] = /^([a-z-]+)=(\d+)\/(\d+)$/.exec(part) ?? [];
    if (!(name in limitClasses) || Number(count) < 1 || Number(seconds) < 1) {
      const classes = Object.keys(limitClasses).join(', ');
      context.issues.push({
        code: 'custom',
        input: text,
        message: `"${part}" is not class=count/seconds with a class of: ${classes}`,
      });
      return z.NEVER;
    }
    rates[name as LimitName] = { count: Number(count), seconds: Number(seconds) };
  }
  return rates;
});

/** An http or https URL. */
export const httpUrl = z
  .string()
  .refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol), 'must be an http or https URL');

/** The base URL of the API. */
export const baseUrl = httpUrl.refine(
  (value) => URL.canParse(value) && new URL(value).pathname.replace(/\/$/, '').endsWith('/v1'),
  'must end in /v1',
);

/** A master key, as text. */
export const masterKey = z
  .string()
  .refine(
    (value) => Buffer.from(value, 'base64url').length === 32,
    'must be 32 bytes in base64url: the value that `svc init` wrote; where it is not set, `svc init` makes one',
  )
  .transform((value) => new Secret(value));

/** A secret, as text. */
export const secret = z
  .string()
  .min(1)
  .transform((value) => new Secret(value));

/** The sender of emails. */
export const mailFrom = z
  .string()
  .refine((value) => parseSender(value) !== undefined, 'must be an address, or a name and an address in <>');

/** True for the URL of a mail server, with a login if it needs one and `ca` as the only parameter. */
function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, searchParams, username, password } = new URL(text);
  const isPlain = ['', '/'].includes(pathname) && [...searchParams.keys()].every((name) => name === 'ca');
  if (/%(?![0-9a-f]{2})/i.test(username + password)) return false;
  return ['smtp:', 'smtps:'].includes(protocol) && hostname !== '' && isPlain;
}

/** Schema of the URL of a mail server. */
export const smtpUrl = z
  .string()
  .refine(isSmtpUrl, 'must be smtp://HOST or smtps://HOST, with USER:PASSWORD@ where the server asks for it')
  .transform((value) => new Secret(value));
