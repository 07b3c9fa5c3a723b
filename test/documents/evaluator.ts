// The query language as the documentation of lists tells it, over rows in memory: no SQL, no code of the service.

/** A value of an attribute; whole numbers are bigints, so that 64 bits are exact. */
export type Scalar = string | number | bigint | boolean;
/** What a row has in an attribute. */
export type Value = Scalar | readonly Scalar[] | null;
/** A document: its attributes and `$id`, `$sequence`, `$createdAt`, `$updatedAt`. */
export type Row = Readonly<Record<string, Value>>;
/** A query as it stands on the wire, before it is printed. */
export interface WireQuery {
  readonly method: string;
  readonly attribute?: string;
  readonly values?: readonly unknown[];
}
/** How the total of a list is asked for. */
export type Total = 'true' | 'false' | 'exact';
/** A page of rows with the keys to show, or the type of the error that is answered. */
export type Evaluation =
  | { readonly total: number; readonly rows: readonly Row[]; readonly keys: readonly string[] | null }
  | { readonly error: string };

interface Order {
  readonly key: string;
  readonly descending: boolean;
}

/** The parts of the language in which a mistake is easily made; a test replaces them one by one to see that it is noticed. */
export interface Rules {
  compare(a: Scalar, b: Scalar): number;
  /** Where a null stands beside a value, ascending. */
  readonly nullBeside: number;
  /** Whether `notEqual` finds nulls. */
  readonly nullDiffers: boolean;
  finds(method: string, text: string, part: string): boolean;
  /** Whether a text has the words that are looked for. */
  hasWords(words: ReadonlySet<string>, wanted: ReadonlySet<string>): boolean;
  has(list: readonly Scalar[], value: Scalar): boolean;
  within(fromLow: number, fromHigh: number): boolean;
  /** Which values `equal` accepts. */
  accepted(values: readonly Scalar[]): readonly Scalar[];
  tieDescending(first: Order | undefined): boolean;
  page<T>(list: readonly T[], offset: number, limit: number): readonly T[];
  /** The page before a cursor, from rows that go away from it. */
  backwards<T>(list: readonly T[]): readonly T[];
  count(matching: number, limit: number): number;
}

/** Text compares by code point, everything else by size; false is smaller than true. */
function compare(a: Scalar, b: Scalar): number {
  if (typeof a !== 'string' || typeof b !== 'string') return a < b ? -1 : a > b ? 1 : 0;
  const [left, right] = [[...a], [...b]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Whether a text begins with, ends with or contains a part. */
export function findsText(method: string, text: string, part: string): boolean {
  if (method === 'startsWith') return text.startsWith(part);
  return method === 'endsWith' ? text.endsWith(part) : text.includes(part);
}

/** The different words of a text, whose letters have lost their case and whose characters are composed. */
function wordsOf(text: string): ReadonlySet<string> {
  const plain = text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC').replaceAll('ς', 'σ');
  return new Set(plain.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== ''));
}

/** The language as it is decided. */
export const decided: Rules = {
  compare,
  nullBeside: -1,
  nullDiffers: false,
  finds: (method, text, part) => findsText(method, lowerAscii(text), lowerAscii(part)),
  has: (list, value) => list.includes(value),
  hasWords: (words, wanted) => wanted.size > 0 && [...wanted].every((word) => words.has(word)),
  within: (fromLow, fromHigh) => fromLow >= 0 && fromHigh <= 0,
  accepted: (values) => values,
  tieDescending: (first) => (first?.key === '$createdAt' || first?.key === '$updatedAt') && first.descending,
  page: (list, offset, limit) => list.slice(offset, offset + limit),
  backwards: (list) => [...list].reverse(),
  count: (matching, limit) => Math.min(matching, limit),
};

/** Evaluates lists over rows. `datetimes` are the keys whose values are points in time; `totalLimit` is how far a filtered list counts. */
export function createEvaluator(
  rows: readonly Row[],
  { datetimes, totalLimit }: { readonly datetimes: readonly string[]; readonly totalLimit: number },
  rules: Rules = decided,
) {
  const typed = (key: string, value: unknown): Scalar =>
    datetimes.includes(key) ? pointInTime(String(value)) : (value as Scalar);

  const matches = (row: Row, { method, attribute = '', values = [] }: WireQuery): boolean => {
    const nested = values as readonly WireQuery[];
    if (method === 'and') return nested.every((inner) => matches(row, inner));
    if (method === 'or') return nested.some((inner) => matches(row, inner));
    const value = row[attribute] ?? null;
    if (method === 'isNull' || method === 'isNotNull') return (value === null) === (method === 'isNull');
    if (method === 'search' || method === 'notSearch') {
      const found = rules.hasWords(wordsOf(String(value ?? '')), wordsOf(String(values[0])));
      return found === (method === 'search');
    }
    if (method === 'exists' || method === 'notExists')
      return values.every((name) => ((row[String(name)] ?? null) === null) === (method === 'notExists'));
    if (value === null) return method === 'notEqual' && rules.nullDiffers;
    if (method === 'notBetween' || /^not(Contains|StartsWith|EndsWith)$/.test(method)) {
      const opposite = `${method.charAt(3).toLowerCase()}${method.slice(4)}`;
      return !matches(row, { method: opposite, attribute, values });
    }
    if (method === 'containsAll')
      return values.every((one) => matches(row, { method: 'contains', attribute, values: [one] }));
    if (method === 'containsAny') return matches(row, { method: 'contains', attribute, values });
    const given = values.map((one) => typed(attribute, one));
    if (typeof value === 'object') {
      const list = value.map((one) => typed(attribute, one));
      return given.some((one) => rules.has(list, one));
    }
    if (['startsWith', 'endsWith', 'contains'].includes(method))
      return given.some((part) => rules.finds(method, String(value), String(part)));
    if (method === 'equal') return rules.accepted(given).some((one) => rules.compare(value, one) === 0);
    const [low, high] = given.map((one) => rules.compare(value, one));
    if (low === undefined) throw new Error(`${method} without a value`);
    if (method === 'between') return rules.within(low, high ?? 0);
    const holds: Record<string, boolean> = {
      ...{ notEqual: low !== 0, lessThan: low < 0, lessThanEqual: low <= 0 },
      ...{ greaterThan: low > 0, greaterThanEqual: low >= 0 },
    };
    return holds[method] ?? fail(method);
  };

  const beside = (orders: readonly Order[]) => (a: Row, b: Row) => {
    for (const { key, descending } of orders) {
      const [left, right] = [a[key] ?? null, b[key] ?? null];
      const ascending =
        left === null || right === null
          ? rules.nullBeside * (Number(left === null) - Number(right === null))
          : rules.compare(left as Scalar, right as Scalar);
      if (ascending !== 0) return descending ? -ascending : ascending;
    }
    return 0;
  };

  return (queries: readonly WireQuery[], total: Total): Evaluation => {
    const first = (...methods: string[]) => queries.find(({ method }) => methods.includes(method));
    const number = (method: string, absent: number) => Number(first(method)?.values?.[0] ?? absent);
    const orders = queries
      .filter(({ method }) => method.startsWith('order'))
      .map(({ method, attribute = '' }): Order => ({ key: attribute, descending: method === 'orderDesc' }));
    const order = beside([...orders, { key: '$sequence', descending: rules.tieDescending(orders[0]) }]);
    const filters = queries.filter(({ method }) => !others.test(method));
    const matching = rows.filter((row) => filters.every((filter) => matches(row, filter))).sort(order);

    const cursor = first('cursorAfter', 'cursorBefore');
    const at = rows.find(({ $id }) => $id === cursor?.values?.[0]);
    if (cursor !== undefined && at === undefined) return { error: 'general_cursor_not_found' };
    const before = cursor?.method === 'cursorBefore';
    const sides = at === undefined ? matching : matching.filter((row) => order(row, at) * (before ? -1 : 1) > 0);
    const away = before ? [...sides].reverse() : sides;
    const page = rules.page(away, number('offset', 0), number('limit', 25));

    const selects = queries
      .filter(({ method }) => method === 'select')
      .flatMap(({ values = [] }) => values.map((value) => String(value).replace(/\..*/, '')));
    const keys = selects.length === 0 || selects.includes('*') ? null : selects.filter((key) => !key.startsWith('$'));
    const exact = total === 'exact' || filters.length === 0;
    const counted = exact ? matching.length : rules.count(matching.length, totalLimit);
    return { total: total === 'false' ? 0 : counted, rows: before ? rules.backwards(page) : page, keys };
  };
}

const others = /^(order(Asc|Desc)|limit|offset|cursor(After|Before)|select)$/;

/** Milliseconds and an offset of zero; without an offset a time is UTC. */
function pointInTime(text: string): string {
  const known = /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : text.includes('T') ? `${text}Z` : `${text}T00:00:00Z`;
  return new Date(known).toISOString().replace('Z', '+00:00');
}

function fail(method: string): never {
  throw new Error(`unknown method ${method}`);
}
