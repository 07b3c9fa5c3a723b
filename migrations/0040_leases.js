// Until when somebody works on a delivery or a message stands in a column of its own, which no index holds: on Postgres a claim then changes no
// index, and pages have room for the claimed row. An index that tells the age of what waits is spared, as the one by which it is claimed has it.

const leased = [
  ['deliveries', 'delivering'],
  ['messages', 'sending'],
];

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [
  ...leased.flatMap(([table, state]) => [
    knex.schema.alterTable(table, (t) => {
      t.text('lease_until');
    }),
    knex(table)
      .where({ state })
      .whereNotNull('due_at')
      .update({ lease_until: knex.raw('due_at') }),
  ]),
  knex.raw('drop index deliveries_waiting'),
  knex.raw('drop index deliveries_due'),
  knex.raw(
    'create index deliveries_due on deliveries (project_id, webhook_id, due_at, created_at) where due_at is not null',
  ),
  ...(dialect === 'postgres' ? [knex.raw('alter table deliveries set (fillfactor = 70)')] : []),
];

/** @type {typeof up} */
export const down = (knex, dialect) => [
  ...(dialect === 'postgres' ? [knex.raw('alter table deliveries reset (fillfactor)')] : []),
  knex.raw('drop index deliveries_due'),
  knex.raw('create index deliveries_due on deliveries (project_id, webhook_id, due_at) where due_at is not null'),
  knex.raw('create index deliveries_waiting on deliveries (created_at) where due_at is not null'),
  ...leased.flatMap(([table, state]) => [
    // Then the time that was due is the end of the lease.
    knex(table)
      .where({ state })
      .whereNotNull('lease_until')
      .update({ due_at: knex.raw('lease_until') }),
    knex.raw('alter table ?? drop column lease_until', [table]),
  ]),
];
