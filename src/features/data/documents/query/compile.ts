import { schemaLimits } from '#src/contract/limits.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { type DialectName, dialectWords, type ElementKind } from '#src/platform/db/dialect-words.js';
import type { Sql } from '#src/platform/db/query.js';
import {
  createConditionCompiler,
  type ListQuery,
  type Order,
  type OrderColumn,
  orderBy,
} from '#src/platform/list-query/index.js';
import { systemFields } from '../../databases/index.js';
import { type Field, typeOf } from './parse.js';

const columnOf = (field: Field): string =>
  field.kind === 'system' ? systemFields[field.name].column : attributeColumn(field.attribute.number);
const kindOf = (field: Field) => typeOf(field).column;

/** Turns conditions on documents into SQL for a database. */
export function createDocumentCompiler(sql: Pick<Sql, 'dialect' | 'list'>) {
  return createConditionCompiler<Field>(sql, { equal: columnOf, ordered: columnOf, kindOf });
}

/** Columns of an order with the tie-break, which has the direction of a leading time. */
export function orderColumns(orders: readonly Order<Field>[], dialect: DialectName): OrderColumn[] {
  const [first] = orders;
  const leadsWithTime = first?.field.kind === 'system' && ['$createdAt', '$updatedAt'].includes(first.field.name);
  const columns = orders.map(({ field, descending }) => ({
    column: columnOf(field),
    descending,
    nullable: field.kind === 'attribute',
    place: placeholderOf(dialect, kindOf(field)),
  }));
  if (columns.some(({ column }) => column === 'seq')) return columns;
  const descending = leadsWithTime ? first.descending : false;
  return [...columns, { column: 'seq', descending, nullable: false, place: placeholderOf(dialect, 'integer') }];
}

/** Builds the ORDER BY of a list. In random order only the tie-break is random if orders are given, otherwise everything is. */
export function orderText(
  { orders, isRandom }: Pick<ListQuery<Field>, 'orders' | 'isRandom'>,
  dialect: DialectName,
  reversed: boolean,
): string {
  const columns = orderColumns(orders, dialect);
  if (!isRandom) return orderBy(columns, dialect, reversed);
  const given = columns.slice(0, orders.length);
  return given.length === 0 ? 'random()' : `${orderBy(given, dialect, reversed)}, random()`;
}

/** Placeholder for a value. Postgres needs the type because the value may come from a table of values. */
function placeholderOf(dialect: DialectName, kind: ElementKind): string {
  return kind === 'text' ? '?' : dialectWords[dialect].typed(kind);
}

/** Most columns of an order for shared statements. More columns give too many different conditions on a cursor. */
const mostOrders = 4;

/** True if an order has few columns with short values, so that the values of several cursors fit in memory at once. */
export function isShortOrder(orders: readonly Order<Field>[]): boolean {
  const isShort = (field: Field) =>
    field.kind === 'system' ||
    (field.attribute.size ?? typeOf(field).characters ?? 0) <= schemaLimits.indexedCharacters;
  return orders.length <= mostOrders && orders.every(({ field }) => isShort(field));
}
