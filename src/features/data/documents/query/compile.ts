import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { Sql } from '#src/platform/db/query.js';
import {
  createCompiler as createListCompiler,
  type Order,
  type OrderColumn,
} from '../../../../platform/list-query/index.js';
import { type Field, systemFields, typeOf } from './parse.js';

const columnOf = (field: Field): string =>
  field.kind === 'system' ? systemFields[field.name].column : attributeColumn(field.attribute.number);
const kindOf = (field: Field) => typeOf(field).column;

/** Turns conditions on documents into SQL for a database. */
export function createCompiler(sql: Pick<Sql, 'dialect' | 'list'>) {
  return createListCompiler<Field>(sql, { equal: columnOf, ordered: columnOf, kindOf });
}

/** The columns of an order with the tie-break, which follows the direction of a leading time. */
export function orderColumns(orders: readonly Order<Field>[]): OrderColumn[] {
  const [first] = orders;
  const leadsWithTime = first?.field.kind === 'system' && ['$createdAt', '$updatedAt'].includes(first.field.name);
  const columns = orders.map(({ field, descending }) => ({
    column: columnOf(field),
    descending,
    nullable: field.kind === 'attribute',
  }));
  if (columns.some(({ column }) => column === 'seq')) return columns;
  return [...columns, { column: 'seq', descending: leadsWithTime ? first.descending : false, nullable: false }];
}
