import { schemaLimits } from '#src/contract/limits.js';
import { attributeColumn, castTypes, type ElementKind } from '#src/platform/db/collection-ddl.js';
import type { DialectName, Sql } from '#src/platform/db/query.js';
import { createCompiler as createListCompiler, type Order, type OrderColumn } from '#src/platform/list-query/index.js';
import { type Field, systemFields, typeOf } from './parse.js';

const columnOf = (field: Field): string =>
  field.kind === 'system' ? systemFields[field.name].column : attributeColumn(field.attribute.number);
const kindOf = (field: Field) => typeOf(field).column;

/** Turns conditions on documents into SQL for a database. */
export function createCompiler(sql: Pick<Sql, 'dialect' | 'list'>) {
  return createListCompiler<Field>(sql, { equal: columnOf, ordered: columnOf, kindOf });
}

/** The columns of an order with the tie-break, which follows the direction of a leading time. */
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

/** Postgres is told the type of a value, as it may come out of a table of values. */
function placeholderOf(dialect: DialectName, kind: ElementKind): string {
  return dialect === 'sqlite' || kind === 'text' ? '?' : `cast(? as ${castTypes[kind]})`;
}

/** More columns than this are compared in too many ways for a statement that is shared. */
const mostOrders = 4;

/** Whether the values of an order are few and short, so that those of several cursors can be in memory at once. */
export function isShortOrder(orders: readonly Order<Field>[]): boolean {
  const isShort = (field: Field) =>
    field.kind === 'system' ||
    (field.attribute.size ?? typeOf(field).characters ?? 0) <= schemaLimits.indexedCharacters;
  return orders.length <= mostOrders && orders.every(({ field }) => isShort(field));
}
