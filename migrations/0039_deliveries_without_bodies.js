// What is posted to a webhook is made of the event itself: ten webhooks do not store a document ten times. A delivery holds its number and how long it is.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('deliveries', (t) => {
    t.bigInteger('sequence').notNullable().defaultTo(0);
    t.integer('bytes').notNullable().defaultTo(0);
  }),
  knex.raw(
    `update deliveries set sequence = events.sequence, bytes = octet_length(events.data)
      from events where events.id = deliveries.event_id`,
  ),
  knex.raw('alter table deliveries drop column body'),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw(`alter table deliveries add column body text not null default '{}'`),
  knex.raw(
    `update deliveries set body = '{"id":"' || events.id || '","type":"' || events.type
        || '","timestamp":"' || replace(events.created_at, 'Z', '+00:00') || '","sequence":' || events.sequence
        || ',"projectId":"' || events.project_id || '","data":' || events.data || '}'
      from events where events.id = deliveries.event_id`,
  ),
  knex.raw('alter table deliveries drop column bytes'),
  knex.raw('alter table deliveries drop column sequence'),
];
