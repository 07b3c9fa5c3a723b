import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { Sql } from '#src/platform/db/query.js';
import {
  createCompiler as createListCompiler,
  type Order,
  type OrderColumn,
} from '../../../../platform/list-query/index.js';
import { type Field, type SystemField, typeOf } from './parse.js';

const systemColumns: Record<SystemField, string> = {
  $id: 'id',
  $sequence: 'seq',
  $createdAt: 'created_at',
  $updatedAt: 'updated_at',
};

/** The column of a field. */
export function columnOf(field: Field): string {
  return field.kind === 'system' ? systemColumns[field.name] : attributeColumn(field.attribute.number);
}

/** Turns conditions on documents into SQL for a database. */
export function createCompiler(sql: Pick<Sql, 'dialect' | 'list'>) {
  return createListCompiler<Field>(sql, {
    equal: columnOf,
    ordered: columnOf,
    kindOf: (field) => typeOf(field).column,
  });
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
