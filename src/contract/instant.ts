import { z } from 'zod';

const forms = [z.core.regexes.datetime({ offset: true }), z.core.regexes.date];
/** Date, hours and minutes, seconds with fractions, offset in hours and minutes. */
const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?(?:(Z)|([+-]\d\d)(?::?(\d\d))?)?$/;

/**
 * Milliseconds since the Unix epoch of a date or time in ISO 8601; undefined for any other text. A time without an offset is UTC, whatever
 * the time zone of the machine. Offsets may lack their colon or minutes, as databases and older SDKs print them.
 */
export function parseInstant(text: string): number | undefined {
  const full = text.replace(
    parts,
    (_, date: string, time: string, seconds = ':00', utc?: string, hours?: string, minutes = '00') =>
      `${date}T${time}${seconds}${utc === undefined && hours !== undefined ? `${hours}:${minutes}` : 'Z'}`,
  );
  if (!forms.some((form) => form.test(full))) return undefined;
  const milliseconds = Date.parse(full);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** A time given by a caller, in milliseconds. */
export const givenTime = z
  .string()
  .max(40)
  .transform((text, { addIssue }) => {
    const milliseconds = parseInstant(text);
    if (milliseconds !== undefined) return milliseconds;
    addIssue({ code: 'invalid_format', format: 'datetime', input: text });
    return z.NEVER;
  })
  .meta({ description: 'ISO 8601; UTC where it has no offset', format: 'date-time' });
