import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import { readQuery, readShape, type WireQuery } from '#src/platform/list-query/index.js';
import { parseJson } from '#src/platform/text/json.js';

/** Returns true if a payload matches the queries of a subscription. */
export type PayloadFilter = (payload: Readonly<Record<string, unknown>>) => boolean;

const invalid = (message: string) => new Failure('general_query_invalid', { message: `Invalid query: ${message}` });

type Compare = (order: number) => boolean;
const comparisons: Readonly<Record<string, Compare>> = {
  equal: (order) => order === 0,
  notEqual: (order) => order !== 0,
  lessThan: (order) => order < 0,
  lessThanEqual: (order) => order <= 0,
  greaterThan: (order) => order > 0,
  greaterThanEqual: (order) => order >= 0,
};

/**
 * Parses the queries of a subscription. A payload must match all of them. Supports comparisons, null checks, `and`, `or`, and `select` of
 * everything. The filter is undefined without queries; `conditions` counts conditions and values. Throws Failure.
 */
export function parseFilter(texts: readonly string[]): { filter: PayloadFilter | undefined; conditions: number } {
  let conditions = 0;
  const condition = ({ method, attribute = '', values }: WireQuery, depth: number): PayloadFilter => {
    conditions += 1 + values.length;
    if (conditions > realtimeLimits.conditions)
      throw invalid(`a subscription has at most ${realtimeLimits.conditions} conditions and values.`);
    if (method === 'select' && values.every((value) => value === '*')) return () => true;
    if (method === 'and' || method === 'or') {
      if (values.length < 2) throw invalid(`${method} takes at least two queries.`);
      if (depth >= realtimeLimits.depth) throw invalid(`conditions nest at most ${realtimeLimits.depth} deep.`);
      const inner = values.map((value) => condition(readShape(value, invalid), depth + 1));
      return (payload) =>
        method === 'and' ? inner.every((fits) => fits(payload)) : inner.some((fits) => fits(payload));
    }
    if (method === 'isNull') return (payload) => memberOf(payload, attribute) === null;
    if (method === 'isNotNull') return (payload) => memberOf(payload, attribute) !== null;
    const compare = comparisons[method];
    if (compare === undefined) throw invalid(`${method.slice(0, 40)} cannot be used here.`);
    if (values.length === 0 || (method !== 'equal' && values.length > 1))
      throw invalid(`${method} takes ${method === 'equal' ? 'at least one value' : 'one value'}.`);
    return (payload) =>
      values.some((value) => {
        const order = orderOf(memberOf(payload, attribute), value);
        return order === undefined ? method === 'notEqual' : compare(order);
      });
  };
  const queries = texts.map((text) => condition(readQuery(text, invalid), 1));
  const filter: PayloadFilter | undefined =
    queries.length === 0 ? undefined : (payload) => queries.every((fits) => fits(payload));
  return { filter, conditions };
}

/** Parses a payload for comparison. Integers beyond 2^53 stay exact. */
export function parsePayload(text: string): Readonly<Record<string, unknown>> {
  return parseJson(text) as Readonly<Record<string, unknown>>;
}

function memberOf(payload: Readonly<Record<string, unknown>>, attribute: string): unknown {
  return Object.hasOwn(payload, attribute) ? (payload[attribute] ?? null) : null;
}

/** Compares two values of the same type; undefined for different types and null. */
function orderOf(a: unknown, b: unknown): number | undefined {
  const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'bigint';
  const isComparable =
    (isNumber(a) && isNumber(b)) || (typeof a === typeof b && ['string', 'boolean'].includes(typeof a));
  if (!isComparable) return undefined;
  const [left, right] = [a as number, b as number];
  return left < right ? -1 : left > right ? 1 : 0;
}
