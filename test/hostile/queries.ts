// Queries of lists: right ones, nearly right ones, and those that cost much.
import type { Random } from '../documents/random.js';
import { hostileText, hostileValue } from './hostile-values.js';
import { printHostile } from './json-text.js';
import type { Pool } from './pool.js';

const comparisons = ['equal', 'notEqual', 'lessThan', 'lessThanEqual', 'greaterThan', 'greaterThanEqual'];
const texts = ['contains', 'startsWith', 'endsWith', 'search'];
const pages = ['limit', 'offset', 'cursorAfter', 'cursorBefore'];
const others = ['isNull', 'isNotNull', 'between', 'orderAsc', 'orderDesc', 'select', 'and', 'or'];
const unsupported = [
  'notContains',
  'notSearch',
  'notBetween',
  'orderRandom',
  'distanceEqual',
  'regex',
  'elemMatch',
  'crosses',
];
const methods = [...comparisons, ...texts, ...pages, ...others, ...others];

/** A query as lists take it: JSON in a text. */
export function queryText(random: Random, fields: readonly string[], { pool }: { readonly pool: Pool }): string {
  if (random.chance(0.04)) return hostileText(random);
  const text = printHostile(query(random, fields, pool, 1));
  return random.chance(0.03) ? text.slice(0, random.below(text.length)) : text;
}

function query(random: Random, fields: readonly string[], pool: Pool, depth: number): unknown {
  const method = random.chance(0.04) ? random.pick(unsupported) : random.pick(methods);
  const attribute = random.chance(0.05) || fields.length === 0 ? hostileText(random) : random.pick(fields);
  const values = valuesOf(random, fields, pool, depth, method);
  if (random.chance(0.05)) return { method, values };
  return pages.includes(method) && random.chance(0.9) ? { method, values } : { method, attribute, values };
}

function valuesOf(random: Random, fields: readonly string[], pool: Pool, depth: number, method: string): unknown {
  if (random.chance(0.03)) return hostileValue(random);
  if (method === 'limit' || method === 'offset')
    return [random.chance(0.9) ? random.below(method === 'limit' ? 30 : 100) : hostileValue(random)];
  if (method.startsWith('cursor')) return [pool.foreign(random)];
  if (method === 'select') return random.chance(0.2) ? ['*'] : [random.pick([...fields, '$id', 'nothing'])];
  if (method === 'and' || method === 'or') {
    const count = random.chance(0.03) ? 60 : 2 + random.below(2);
    if (depth > random.pick([2, 3, 11])) return [];
    return Array.from({ length: count }, () => query(random, fields, pool, depth + 1));
  }
  if (method.startsWith('order') || method.startsWith('is')) return [];
  if (method !== 'between' && random.chance(0.04)) return many(random);
  const count = method === 'between' ? 2 : 1;
  return Array.from({ length: count }, () => (random.chance(0.2) ? hostileValue(random) : plainValue(random, pool)));
}

function plainValue(random: Random, pool: Pool): unknown {
  const instant = new Date(random.below(2 ** 31) * 1000).toISOString();
  return random.pick<unknown>(['hello', 'a', '', random.below(100), 1.5, true, instant, pool.foreign(random), null]);
}

/** As many values as a query may have, or one more; short, so that they fit into an address. */
function many(random: Random): unknown[] {
  const length = random.pick([0, 2, 100, 499, 500, 501]);
  const value = random.pick<unknown>(['a', 1, 'b%', true]);
  return Array.from({ length }, () => (random.chance(0.9) ? value : random.below(10)));
}

/** A list of queries: most often few, sometimes as many and as large as the bounds of each let it be. */
export function queryTexts(random: Random, fields: readonly string[], given: { readonly pool: Pool }): string[] {
  if (random.chance(0.95) || fields.length === 0)
    return Array.from({ length: random.below(5) }, () => queryText(random, fields, given));
  const method = random.pick(['equal', 'contains', 'contains', 'search', 'startsWith']);
  const attribute = random.pick(fields);
  const values = method === 'search' || method === 'startsWith' ? ['a'] : many(random);
  return Array.from({ length: random.pick([4, 6, 66, 99, 100, 101]) }, () =>
    JSON.stringify({ method, attribute, values }),
  );
}
