import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, jsonText, table, text } from '#src/platform/db/table.js';

/** Teams of users. */
export const teams = table('teams', {
  projectId: text,
  id: text,
  name: text,
  prefs: jsonText<Readonly<Record<string, unknown>>>(),
  createdAt: instant,
  updatedAt: instant,
});

/** A team. */
export type Team = ReturnType<typeof teams.decode>;

/** A team with the number of its members. */
export type CountedTeam = Team & { readonly total: number };

/** Counts the confirmed members of a row's team at read time, so that deleting a user cannot leave a stale count. */
export const memberCount =
  '(select count(*) from memberships where memberships.project_id = teams.project_id and memberships.team_id = teams.id and memberships.confirm = 1)';

/** SQL over teams. */
export function createTeamStore(sql: Sql) {
  const { knex } = sql;
  const own = (projectId: string, id: string) => knex(teams.name).where({ project_id: projectId, id });
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(teams.name)
        .where({ project_id: p.projectId, id: p.id })
        .select(teams.select(sql), k.raw(`${memberCount} as total`)),
    ),
    /** Locks the team until the unit ends. */
    lockById: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(teams.name).where({ project_id: p.projectId, id: p.id }).forUpdate().select(teams.select(sql)),
    ),
    /** Returns no row if the id is taken. */
    insert: (team: Team): Query =>
      sql.compile(knex(teams.name).insert(teams.encode(team)).onConflict().ignore().returning('id')),
    update: ({ projectId, id }: Team, change: Partial<Team>): Query =>
      sql.compile(own(projectId, id).update(teams.encodeSome(change))),
    remove: ({ projectId, id }: Team): Query => sql.compile(own(projectId, id).delete()),
    /** The teams of a project, limited to `ids` unless null. */
    rows: (projectId: string, ids: readonly string[] | null) => {
      const all = knex(teams.name).where('teams.project_id', projectId);
      return ids === null ? all : all.where(sql.isOneOf('teams.id', sql.list(ids)));
    },
    columns: () => knex.raw('?, ?', [teams.select(sql), knex.raw(`${memberCount} as total`)]),
  };
}

/** Queries over teams. */
export type TeamStore = ReturnType<typeof createTeamStore>;
