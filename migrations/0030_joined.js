// When a user has joined a team stands in users.memberships too: what happened to others in it before is not for this user.

/** Writes users.memberships anew, each with these members besides the id, the team and the roles. */
const write = (knex, dialect, more) => {
  const joined =
    dialect === 'sqlite'
      ? `json_group_array(json_object('id', id, 'teamId', team_id, 'roles', json(roles)${more}) order by joined, id)`
      : `json_agg(json_build_object('id', id, 'teamId', team_id, 'roles', roles::json${more}) order by joined, id)::text`;
  return knex.raw(
    `update users set memberships = coalesce(
      (select ${joined} from memberships where project_id = users.project_id and user_id = users.id and confirm = 1), '[]')
    where memberships <> '[]'`,
  );
};

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [write(knex, dialect, ", 'joined', joined")];

/** @type {typeof up} */
export const down = (knex, dialect) => [write(knex, dialect, '')];
