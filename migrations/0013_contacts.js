// Who set an address or a number: one that a server key, the command line or an import has set is no claim of a stranger. And the id under
// which a team sees somebody whom it has invited.

/** The latest of these rows names who set the contact that a user has. */
const settersOf = {
  email: ['accountCreated', 'accountEmailChanged'],
  phone: ['accountCreated', 'accountPhoneChanged'],
};

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => {
  // The expression of the index `audit_entries_of_user`.
  const owner =
    dialect === 'sqlite'
      ? "substr(resource, 7, instr(substr(resource, 7) || '/', '/') - 1)"
      : "split_part(resource, '/', 2)";
  return [
    knex.schema.alterTable('users', (t) => t.integer('email_vouched').notNullable().defaultTo(0)),
    knex.schema.alterTable('users', (t) => t.integer('phone_vouched').notNullable().defaultTo(0)),
    knex.schema.alterTable('memberships', (t) => t.text('alias')),
    // Where the log does not tell who set it, a contact that was never proved counts as a stranger's claim.
    ...Object.entries(settersOf).map(([contact, actions]) =>
      knex.raw(
        `update users set ${contact}_vouched = 1 where ${contact} is not null and (
          select actor_kind from audit_entries
          where audit_entries.project_id = users.project_id and ${owner} = users.id and substr(resource, 1, 6) = 'users/'
            and action in (${actions.map((action) => `'${action}'`).join(', ')})
          order by at desc, audit_entries.id desc limit 1
        ) in ('key', 'operator')`,
      ),
    ),
  ];
};

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const down = (knex) => [
  knex.raw('alter table memberships drop column alias'),
  knex.raw('alter table users drop column phone_vouched'),
  knex.raw('alter table users drop column email_vouched'),
];
