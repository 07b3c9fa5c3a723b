import type { Sql } from '#src/platform/db/query.js';
import { instant, jsonText, table, text } from '#src/platform/db/table.js';
import { forUpdate, oneOf, raw } from '#src/platform/db/template.js';

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

type TeamKey = Readonly<Record<'projectId' | 'id', string>>;

/** SQL over teams. */
export function createTeamStore(sql: Sql) {
  return {
    find: ({ projectId, id }: TeamKey) => sql`
      select ${teams.row}, ${raw(memberCount)} as total from teams where project_id = ${projectId} and id = ${id}`,
    /** Locks the team until the unit ends. */
    lockById: ({ projectId, id }: TeamKey) =>
      sql`select ${teams.row} from teams where project_id = ${projectId} and id = ${id}${forUpdate}`,
    /** Returns no row if the id is taken. */
    insert: (team: Team) => sql`${teams.insert(team)} on conflict do nothing returning id`,
    update: ({ projectId, id }: Team, change: Partial<Team>) =>
      sql`update teams set ${teams.set(change)} where project_id = ${projectId} and id = ${id}`,
    remove: ({ projectId, id }: Team) => sql`delete from teams where project_id = ${projectId} and id = ${id}`,
    /** The teams of a project, limited to `ids` unless null. */
    rows: (projectId: string, ids: readonly string[] | null) => ({
      from: raw('teams'),
      where: sql`teams.project_id = ${projectId} ${ids !== null && sql`and teams.id ${oneOf(ids)}`}`,
    }),
    columns: () => sql`${teams.row}, ${raw(memberCount)} as total`,
  };
}

/** Queries over teams. */
export type TeamStore = ReturnType<typeof createTeamStore>;
