import type { User, WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Asked, ListField, Lists } from '../lists/index.js';
import { newMembership, type Roster, recorded } from './memberships/roster.js';
import { ownerRole } from './memberships/store.js';
import { memberCount, type Team, type TeamStore, teams } from './store.js';

/** A team with the number of its members. */
export type CountedTeam = Team & { readonly total: number };

/** Whoever may call operations on teams; somebody who is no user may do everything. */
export type Caller = Exclude<WireActor, { kind: 'guest' }>;

const fields: Readonly<Record<string, ListField>> = {
  $id: { column: 'teams.id', type: 'text' },
  $createdAt: { column: 'teams.created_at', type: 'instant' },
  $updatedAt: { column: 'teams.updated_at', type: 'instant' },
  name: { column: 'teams.name', type: 'text' },
  total: { column: memberCount, type: 'integer' },
};

interface Doors {
  readonly accounts: Accounts;
  readonly lists: Lists;
  readonly roster: Roster;
}

/** Teams of users. Only members learn of a team, and only its owners, server keys and operators change it. */
export function createTeams({ db, random }: Pick<Platform, 'db' | 'random'>, store: TeamStore, doors: Doors) {
  const { accounts, lists, roster } = doors;
  const resource = ({ id }: Team) => `teams/${id}`;
  const counted = (row: Parameters<typeof teams.decode>[0]): CountedTeam => ({
    ...teams.decode(row),
    total: Number(row.total),
  });
  const get = async (reader: Reader, project: Project, id: string): Promise<CountedTeam> => {
    const row = await reader.one(store.find({ projectId: project.id, id }));
    if (row === undefined) throw new Failure('team_not_found');
    return counted(row);
  };
  /** The team, which nobody else changes until the unit ends, nor who is in it. */
  const hold = async (unit: Unit, project: Project, id: string): Promise<Team> => {
    const row = await unit.one(store.hold({ projectId: project.id, id }));
    if (row === undefined) throw new Failure('team_not_found');
    return teams.decode(row);
  };
  /** The same for whom the team belongs to. Throws Failure `user_unauthorized` for other members, `team_not_found` for everybody else. */
  const holdAsOwner = async (unit: Unit, project: Project, actor: Caller, id: string): Promise<Team> => {
    const team = await hold(unit, project, id);
    if (actor.kind !== 'user') return team;
    const own = await roster.ofUser(unit, project.id, id, actor.id);
    if (own?.confirm !== true) throw new Failure('team_not_found');
    if (!roster.isOwner(own)) throw new Failure('user_unauthorized');
    return team;
  };
  const found = async (unit: Unit, project: Project, { id }: User) => {
    const account = await accounts.hold(unit, project.id, id);
    if (account === undefined) throw new Failure('general_unauthorized_scope');
    return account;
  };
  const update = async (unit: Unit, project: Project, team: Team, change: Partial<Team>): Promise<CountedTeam> => {
    await unit.run(store.update(team, { ...change, updatedAt: unit.now }));
    return get(unit, project, team.id);
  };

  return {
    hold,
    holdAsOwner,
    /** A team as its members see it. Throws Failure `team_not_found` for everybody else. */
    get: async (reader: Reader, project: Project, actor: Caller, id: string): Promise<CountedTeam> => {
      const isOutside = actor.kind === 'user' && !actor.account.memberships.some(({ teamId }) => teamId === id);
      if (isOutside) throw new Failure('team_not_found');
      return get(reader, project, id);
    },
    /** A page of the teams that the caller is in; of all of them for a server key. */
    list: async (project: Project, actor: Caller, asked: Asked): Promise<{ total: number; teams: CountedTeam[] }> => {
      const ids = actor.kind === 'user' ? actor.account.memberships.map(({ teamId }) => teamId) : null;
      const { total, rows } = await db.snapshot((snapshot) =>
        lists.page(
          snapshot,
          { rows: store.rows(project.id, ids), select: store.columns(), fields, search: ['teams.name', 'teams.id'] },
          asked,
        ),
      );
      return { total, teams: rows.map(counted) };
    },
    /** Creates a team; a user who does becomes its first member and owner. Throws Failure `team_already_exists`. */
    create: async (
      unit: Unit,
      project: Project,
      actor: Caller,
      given: { readonly id: string; readonly name: string; readonly roles: readonly string[] },
    ): Promise<CountedTeam> => {
      const founder = actor.kind === 'user' ? await found(unit, project, actor) : undefined;
      const id = given.id === uniqueId ? random.id() : given.id;
      const team = { projectId: project.id, id, name: given.name, prefs: {}, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insert(team))) === undefined) throw new Failure('team_already_exists');
      unit.record('teamCreated', { resource: resource(team), payload: { name: team.name } });
      if (founder === undefined) return { ...team, total: 0 };
      const roles = [...new Set([...given.roles, ownerRole])];
      const place = { id: random.id(), projectId: project.id, teamId: id, userId: founder.id, roles };
      unit.record('membershipConfirmed', recorded(await roster.add(unit, founder, newMembership(unit, place))));
      return { ...team, total: 1 };
    },
    rename: async (unit: Unit, project: Project, actor: Caller, id: string, name: string): Promise<CountedTeam> => {
      const team = await holdAsOwner(unit, project, actor, id);
      unit.record('teamUpdated', { resource: resource(team), payload: { name } });
      return update(unit, project, team, { name });
    },
    changePrefs: async (
      unit: Unit,
      project: Project,
      actor: Caller,
      id: string,
      prefs: Team['prefs'],
    ): Promise<CountedTeam> => {
      const team = await holdAsOwner(unit, project, actor, id);
      unit.record('teamPrefsChanged', { resource: resource(team), payload: { name: team.name } });
      return update(unit, project, team, { prefs });
    },
    /** Deletes a team with its memberships and invitations. */
    remove: async (unit: Unit, project: Project, actor: Caller, id: string): Promise<void> => {
      const team = await holdAsOwner(unit, project, actor, id);
      await roster.dissolve(unit, project.id, id, () => unit.run(store.remove(team)));
      unit.record('teamDeleted', { resource: resource(team), payload: { name: team.name } });
    },
  };
}

/** The teams service. */
export type Teams = ReturnType<typeof createTeams>;
