import { z } from 'zod';
import { prefsBytes, userLimits } from '#src/contract/limits.js';
import { printJson } from '#src/platform/text/json.js';

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

/** Preferences on the wire: any JSON object that the application stores with a user. */
export const preferencesShape = z.record(z.string(), z.unknown()).meta({ id: 'Preferences' });

/** Preferences in a request, limited in size. */
export const preferences = preferencesShape.refine((prefs) => Buffer.byteLength(printJson(prefs)) <= prefsBytes, {
  message: `must be at most ${prefsBytes} bytes of JSON`,
});
