// On Postgres, an index of the paths of resources takes more room than all other indexes of events. A hash index is enough to find them.

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [
  knex.raw('drop index events_of_resource'),
  knex.raw(`create index events_of_resource on events ${dialect === 'postgres' ? 'using hash ' : ''}(resource)`),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('drop index events_of_resource'),
  knex.raw('create index events_of_resource on events (project_id, resource, sequence)'),
];
