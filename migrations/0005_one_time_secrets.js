// One-time secrets: codes and links that log in, verify or recover. A user's language, teams, and logins that lack the second factor.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('one_time_secrets', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('purpose').notNullable();
    // Whom it is for, as an address or a user; a new one takes the place of the old one.
    t.text('subject').notNullable();
    t.text('id').notNullable().unique();
    // Null while the user is yet to be created, by redeeming it.
    t.text('user_id');
    // The id under which the caller knows the user.
    t.text('alias').notNullable();
    t.text('recipient').notNullable();
    t.text('digest').notNullable();
    t.integer('length').notNullable();
    // Null where guessing is hopeless anyway.
    t.integer('tries_left');
    t.text('used_at');
    t.text('expire').notNullable();
    t.text('created_at').notNullable();
    t.primary(['project_id', 'purpose', 'subject']);
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
    t.index(['project_id', 'user_id']);
    t.index(['project_id', 'alias']);
    t.index(['expire']);
  }),
  knex.schema.alterTable('sessions', (t) => t.integer('pending').notNullable().defaultTo(0)),
  knex.schema.alterTable('users', (t) => t.text('locale')),
  knex.schema.alterTable('users', (t) => t.text('memberships').notNullable().defaultTo('[]')),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('alter table users drop column memberships'),
  knex.raw('alter table users drop column locale'),
  knex.raw('alter table sessions drop column pending'),
  knex.schema.dropTable('one_time_secrets'),
];
