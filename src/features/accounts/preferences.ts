import { z } from 'zod';
import { prefsBytes } from '#src/contract/limits.js';

/** Preferences on the wire: whatever an application keeps with a user. */
export const preferencesShape = z.record(z.string(), z.unknown()).meta({ id: 'Preferences' });

/** Preferences as a caller gives them. */
export const preferences = preferencesShape.refine((prefs) => Buffer.byteLength(JSON.stringify(prefs)) <= prefsBytes, {
  message: `must be at most ${prefsBytes} bytes of JSON`,
});
