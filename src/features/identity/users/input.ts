import { z } from 'zod';
import { prefsBytes, userLimits } from '#src/contract/limits.js';
import { printJson } from '#src/platform/text/json.js';
import type { ImportedMembers } from './record.js';

/** Labels in a request; duplicates are removed. */
export const labelList = z
  .array(
    z
      .string()
      .regex(/^[A-Za-z0-9]+$/, 'must be letters A-Z a-z and digits')
      .max(userLimits.labelLength),
  )
  .max(userLimits.labels)
  .transform((labels) => [...new Set(labels)]);

const creationTime = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform((text) => (text ? new Date(text).toISOString() : undefined));

/** The creation time of an imported user, under both of its names. */
export const creationTimes = { registration: creationTime, $createdAt: creationTime } as const;

/** Members of a new user from a request with `creationTimes`. */
export function importedOf({
  registration,
  $createdAt,
}: {
  readonly registration?: string | undefined;
  readonly $createdAt?: string | undefined;
}): ImportedMembers {
  const createdAt = registration ?? $createdAt;
  return createdAt === undefined ? {} : { createdAt };
}

/** Preferences on the wire: any JSON object that the application stores with a user. */
export const preferencesShape = z.record(z.string(), z.unknown()).meta({ id: 'Preferences' });

/** Preferences in a request, limited in size. */
export const preferences = preferencesShape.refine((prefs) => Buffer.byteLength(printJson(prefs)) <= prefsBytes, {
  message: `must be at most ${prefsBytes} bytes of JSON`,
});
