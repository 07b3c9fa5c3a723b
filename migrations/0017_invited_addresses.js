// Somebody may be invited to a team by address and by id at once, and the team does not learn that it is one user. An invitation by address is
// found by the address; a user has one place in a team besides.

const ofUser = ['project_id', 'team_id', 'user_id'];

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => {
  const email = dialect === 'sqlite' ? "json_extract(invited_as, '$.email')" : "invited_as::json ->> 'email'";
  return [
    knex.schema.alterTable('memberships', (t) => {
      t.text('address');
      t.dropUnique(ofUser);
    }),
    // Where an address was invited, changed hands and was invited again, the later invitation has it.
    knex.raw(
      `update memberships set address = recipient where confirm = 0 and recipient = ${email} and not exists (
        select 1 from memberships as later
        where later.project_id = memberships.project_id and later.team_id = memberships.team_id and later.confirm = 0
          and later.recipient = memberships.recipient and (later.invited, later.id) > (memberships.invited, memberships.id)
      )`,
    ),
    knex.raw(`create unique index memberships_of_user on memberships (${ofUser.join(', ')}) where address is null`),
    knex.schema.alterTable('memberships', (t) => t.unique(['project_id', 'team_id', 'address'])),
  ];
};

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const down = (knex) => [
  // Of two places of a user the one that the id names stays, else the first.
  knex.raw(
    `delete from memberships where address is not null and exists (
      select 1 from memberships as other
      where other.project_id = memberships.project_id and other.team_id = memberships.team_id
        and other.user_id = memberships.user_id and (other.address is null or other.id < memberships.id)
    )`,
  ),
  knex.raw('drop index memberships_of_user'),
  knex.schema.alterTable('memberships', (t) => {
    t.dropUnique(['project_id', 'team_id', 'address']);
    t.unique(ofUser);
  }),
  knex.raw('alter table memberships drop column address'),
];
