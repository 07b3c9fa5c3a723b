import { z } from 'zod';
import { onlyVisible } from './visible.js';

/** A point in time as stored: `YYYY-MM-DDTHH:mm:ss.sssZ`, which sorts as text. */
export type Instant = string;

/** An id chosen by a caller: 1–36 of `A–Z a–z 0–9 . _ -`, not starting with a special character. */
export const customId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,35}$/,
    'must be 1 to 36 characters of A-Z a-z 0-9 . _ - and start with a letter or digit',
  )
  .meta({ description: 'An id of 1 to 36 characters A-Z a-z 0-9 . _ -, not starting with . _ -' });

/** Names by which careless code reaches the prototype of an object: no body may hold such a member. */
export const refusedMembers: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** The literal by which a caller asks the service to make an id. */
export const uniqueId = 'unique()';

/** An id for something to be created: chosen by the caller, or `unique()`. */
export const newId = z
  .union([z.literal(uniqueId), customId])
  .meta({ description: 'An id of your choice, or unique()' });

/** An e-mail address; compared and stored in lower case. */
export const emailAddress = z
  .email('must be an e-mail address')
  .max(320)
  .transform((value) => value.toLowerCase());

/** A phone number as E.164 writes it. */
export const phoneNumber = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be a phone number such as +14155550123');

/** What proves the second factor in a login: a code of six digits, or a recovery code. */
export const otpText = z
  .string()
  .max(256)
  .meta({ description: 'The code of an authenticator app, or a recovery code; needed once the second factor is on' });

/** The address of a page of the application, as far as its form says; `demandOwnUrl` judges the rest. */
export const pageUrl = z.string().min(1).max(2048).meta({ description: 'A page on a platform of the project' });

/** A name of at most so many characters; what could steer a terminal or a page is no part of it. */
export const visibleText = (max: number) =>
  z.string().max(max).regex(onlyVisible, 'must not hold control characters or line breaks');

/** A display name. */
export const displayName = visibleText(128);

/** A name where one is required: white space alone is none. */
export const required = (name: z.ZodString) => name.regex(/\S/, 'must not be empty');

/** An instant on the wire: ISO 8601 with milliseconds and offset, always UTC. */
export const wireInstant = z.iso.datetime({ offset: true }).meta({ description: 'ISO 8601, UTC, with milliseconds' });

/** A wire instant, or the empty string where there is none. */
export const wireInstantOrEmpty = z.union([wireInstant, z.literal('')]);

/** Prints a stored instant in the wire form; absent becomes the empty string. */
export function toWireInstant(instant: Instant | null): string {
  return instant === null ? '' : `${instant.slice(0, -1)}+00:00`;
}
