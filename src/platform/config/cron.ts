interface Field {
  readonly min: number;
  readonly max: number;
}

/** Second, minute, hour, day of month, month and day of week (0 and 7 are Sunday). */
const fields: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12 },
  { min: 0, max: 7 },
];
/** Days of each month in a leap year. */
const days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * The schedule with six fields, in UTC, of a text with five or six fields of numbers, lists, ranges and steps. Undefined if it is none, if
 * it never comes, or if it comes more than once a minute.
 */
export function parseSchedule(text: string): string | undefined {
  const given = text.trim().split(/\s+/);
  const words = given.length === 5 ? ['0', ...given] : given;
  if (words.length !== fields.length) return undefined;
  const values = fields.map((field, at) => valuesOf(words[at] ?? '', field));
  const [seconds, , , dates, months, weekdays] = values;
  if (values.some((one) => one === undefined) || seconds?.size !== 1) return undefined;
  const isAnyWeekday = [0, 1, 2, 3, 4, 5, 6].every((day) => weekdays?.has(day) || (day === 0 && weekdays?.has(7)));
  // February 29 on a given weekday comes once in 28 years.
  const comes = [...(months ?? [])].some((month) => {
    const last = (days[month - 1] ?? 0) - (month === 2 && !isAnyWeekday ? 1 : 0);
    return [...(dates ?? [])].some((date) => date <= last);
  });
  return comes ? words.join(' ') : undefined;
}

/** The values of a field such as `*`, `1,15`, `1-5` or `0-20/5`. */
function valuesOf(text: string, { min, max }: Field): Set<number> | undefined {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [, range = '', step = '1'] = /^(\*|\d{1,2}|\d{1,2}-\d{1,2})(?:\/(\d{1,2}))?$/.exec(part) ?? [];
    const [from = min, to = from] = range === '*' ? [min, max] : range.split('-').map(Number);
    const isSingle = /^\d+$/.test(range);
    if (range === '' || from < min || to > max || from > to || step === '0' || (isSingle && part.includes('/')))
      return undefined;
    for (let value = from; value <= to; value += Number(step)) values.add(value);
  }
  return values;
}
