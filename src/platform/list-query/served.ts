import { invalidParam } from '#src/contract/errors.js';
import { queryBounds } from '#src/contract/limits.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { ListField } from './fields.js';
import type { Condition } from './query/condition.js';
import type { ListQuery } from './query/parse.js';
import type { ListDeps, ListDescription } from './rows.js';
import { countRows } from './search.js';

/** Lists may have this many times as many rows as a total counts before they refuse queries that no index serves. */
const timesFew = 20;

/** Throws Failure `general_argument_invalid` for an offset that skips too many rows. */
export function requireNearOffset({ offset }: ListQuery<ListField>): void {
  if (offset > queryBounds.offset)
    throw invalidParam('queries', `offset takes at most ${queryBounds.offset} here: go on with cursorAfter.`);
}

/** Throws Failure `general_argument_invalid` if a query would read or sort every row of a very long list. */
export async function requireServed(
  { sql, few }: Pick<ListDeps, 'sql' | 'few'>,
  reader: Reader,
  { rows, fields, isLarge }: ListDescription,
  query: ListQuery<ListField>,
): Promise<void> {
  if (isLarge !== true || isServed(query, fields)) return;
  const most = timesFew * few;
  if ((await countRows(sql, reader, rows, most + 1)) <= most) return;
  const names = (kind: ListField['index']) => Object.keys(fields).filter((name) => fields[name]?.index === kind);
  throw invalidParam(
    'queries',
    `no index serves this query, and the list has more than ${most} entries: order by ${names('order').join(' or ')}, compare the same attribute, or find entries by ${names('unique').join(' or ')}, or by search.`,
  );
}

/** True if an index finds the rows, or they are read in the order of one until the page is full. */
function isServed({ conditions, orders }: ListQuery<ListField>, fields: ListDescription['fields']): boolean {
  if (conditions.some((one) => isEquality(one) && one.field.index === 'unique')) return true;
  const first = orders[0]?.field ?? fields.$createdAt;
  if (first?.index !== 'order') return false;
  return conditions.every((one) => isRange(one) && one.field.column === first.column);
}

type Compared = Extract<Condition<ListField>, { readonly kind: 'compare' | 'between' }>;

function isEquality(condition: Condition<ListField>): condition is Compared {
  return condition.kind === 'compare' && condition.method === 'equal';
}

function isRange(condition: Condition<ListField>): condition is Compared {
  return condition.kind === 'between' || (condition.kind === 'compare' && condition.method !== 'notEqual');
}
