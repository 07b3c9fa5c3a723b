// What the feed and event streams need of an event besides its payload: what it is about, and who may read it.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('events', (t) => {
    // The path of what changed, as in the audit log.
    t.text('resource');
    // JSON; null where the permissions of a document decide, and of events from before.
    t.text('audience');
  }),
  // Who may read earlier events of a deleted document is decided by its last state.
  knex.raw(`create index events_deleted on events (project_id, resource) where type = 'documentDeleted'`),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('drop index events_deleted'),
  knex.raw('alter table events drop column audience'),
  knex.raw('alter table events drop column resource'),
];
