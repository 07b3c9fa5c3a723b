// Messages on their way: by which channel and to whom, when they are due and when too late, who is sending them, and what came of it.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('messages', (t) => {
    t.dropIndex(['state', 'created_at']);
    t.text('channel').notNullable().defaultTo('email');
    // Sealed, apart from the content: it stays when the content is wiped.
    t.text('recipient').notNullable().defaultTo('');
    t.integer('attempt').notNullable().defaultTo(0);
    // Null once it has ended; while it is being sent, when somebody else may take it over.
    t.text('due_at');
    // Null where it is never too late.
    t.text('expire');
    t.text('owner');
    // Counts the claims, so that who was late notices it.
    t.integer('fence').notNullable().defaultTo(0);
    t.text('error').notNullable().defaultTo('');
    t.text('sent_at');
    t.index(['project_id', 'created_at']);
    t.index(['created_at']);
  }),
  knex.raw('create index messages_due on messages (channel, due_at) where due_at is not null'),
  // Until now nothing was sent: what there is stays where it can be read.
  knex.raw(`update messages set state = 'kept' where state = 'pending'`),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('drop index messages_due'),
  knex.schema.alterTable('messages', (t) => {
    t.dropIndex(['project_id', 'created_at']);
    t.dropIndex(['created_at']);
  }),
  ...['sent_at', 'error', 'fence', 'owner', 'expire', 'due_at', 'attempt', 'recipient', 'channel'].map((column) =>
    knex.raw('alter table messages drop column ??', [column]),
  ),
  knex.schema.alterTable('messages', (t) => t.index(['state', 'created_at'])),
];
