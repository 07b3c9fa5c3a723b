import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Audience } from '#src/contract/events.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import type { ListField, ListRequest, Lists } from '#src/platform/list-query/index.js';
import type { Sessions } from '../sessions/index.js';
import type { TakenIds } from '../taken-ids/index.js';
import { announceMembership } from './memberships/announce.js';
import { type MembershipRepository, newMembership, recorded } from './memberships/repository.js';
import { ownerRole } from './memberships/store.js';
import { type CountedTeam, memberCount, type Team, type TeamStore, teams } from './store.js';
import { toTeam } from './view.js';

/** Who may call operations on teams: users, and server keys and operators, who may do everything. */
export type Caller = Exclude<WireActor, { kind: 'guest' }>;

const fields: Readonly<Record<string, ListField>> = {
  $id: { column: 'teams.id', type: 'text' },
  $createdAt: { column: 'teams.created_at', type: 'instant' },
  $updatedAt: { column: 'teams.updated_at', type: 'instant' },
  name: { column: 'teams.name', type: 'text' },
  total: { column: memberCount, type: 'integer' },
};

interface Deps {
  readonly sessions: Sessions;
  readonly lists: Lists;
  readonly membershipRepository: MembershipRepository;
  readonly takenIds: TakenIds;
}

/** Teams of users. Only members learn of a team, and only its owners, server keys and operators change it. */
export interface Teams {
  /** The team, locked: nobody else changes it, nor who is in it, until the unit ends. Throws Failure `team_not_found`. */
  lockById(unit: Unit, project: Project, id: string): Promise<Team>;
  /** The same for its owners. Throws Failure `user_unauthorized` for other members, `team_not_found` for everybody else. */
  lockAsOwner(unit: Unit, project: Project, actor: Caller, id: string): Promise<Team>;
  /** A team as its members see it. Throws Failure `team_not_found` for everybody else. */
  get(reader: Reader, project: Project, actor: Caller, id: string): Promise<CountedTeam>;
  /** A page of the teams that the caller is in; of all of them for a server key. */
  list(project: Project, actor: Caller, request: ListRequest): Promise<{ total: number; teams: CountedTeam[] }>;
  /** Creates a team; a user who does becomes its first member and owner. Throws Failure `team_already_exists`. */
  create(unit: Unit, project: Project, actor: Caller, input: TeamInput): Promise<CountedTeam>;
  rename(unit: Unit, project: Project, actor: Caller, id: string, name: string): Promise<CountedTeam>;
  changePrefs(unit: Unit, project: Project, actor: Caller, id: string, prefs: Team['prefs']): Promise<CountedTeam>;
  /** Deletes a team with its memberships and invitations. */
  remove(unit: Unit, project: Project, actor: Caller, id: string): Promise<void>;
}

interface TeamInput {
  readonly id: string;
  readonly name: string;
  /** Roles of the first member, besides `owner`. */
  readonly roles: readonly string[];
}

/** Creates the teams service. */
export function createTeams({ db, random }: Pick<Runtime, 'db' | 'random'>, store: TeamStore, deps: Deps): Teams {
  const { sessions, lists, membershipRepository, takenIds } = deps;
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
  const lockById: Teams['lockById'] = async (unit, project, id) => {
    const row = await unit.one(store.lockById({ projectId: project.id, id }));
    if (row === undefined) throw new Failure('team_not_found');
    return teams.decode(row);
  };
  const lockAsOwner: Teams['lockAsOwner'] = async (unit, project, actor, id) => {
    const team = await lockById(unit, project, id);
    if (actor.kind !== 'user') return team;
    const own = await membershipRepository.ofUser(unit, project.id, id, actor.id);
    if (own?.confirm !== true) throw new Failure('team_not_found');
    if (!membershipRepository.isOwner(own)) throw new Failure('user_unauthorized');
    return team;
  };
  const announce = (
    unit: Unit,
    event: 'teamCreated' | 'teamUpdated' | 'teamDeleted',
    team: CountedTeam,
    audience: Audience = { team: team.id },
  ) => unit.announce(event, { resource: resource(team), data: printJson(toTeam(team)), audience });
  const update = async (unit: Unit, project: Project, team: Team, change: Partial<Team>): Promise<CountedTeam> => {
    await unit.run(store.update(team, { ...change, updatedAt: unit.now }));
    const changed = await get(unit, project, team.id);
    announce(unit, 'teamUpdated', changed);
    return changed;
  };

  return {
    lockById,
    lockAsOwner,
    get: async (reader, project, actor, id) => {
      const isOutside = actor.kind === 'user' && !actor.account.memberships.some(({ teamId }) => teamId === id);
      if (isOutside) throw new Failure('team_not_found');
      return get(reader, project, id);
    },
    list: async (project, actor, request) => {
      const ids = actor.kind === 'user' ? actor.account.memberships.map(({ teamId }) => teamId) : null;
      const listing = {
        rows: store.rows(project.id, ids),
        select: store.columns(),
        fields,
        search: ['teams.name', 'teams.id'],
      };
      const { total, rows } = await lists.read(db, listing, request);
      return { total, teams: rows.map(counted) };
    },
    create: async (unit, project, actor, input) => {
      const founder = actor.kind === 'user' ? await sessions.holdCaller(unit, project, actor) : undefined;
      const id = input.id === uniqueId ? random.id() : input.id;
      const team = { projectId: project.id, id, name: input.name, prefs: {}, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insert(team))) === undefined) throw new Failure('team_already_exists');
      if (input.id !== uniqueId && (await takenIds.has(unit, { projectId: project.id, kind: 'team', id })))
        throw new Failure('team_already_exists');
      unit.record('teamCreated', { resource: resource(team), payload: { name: team.name } });
      const created = { ...team, total: founder === undefined ? 0 : 1 };
      announce(unit, 'teamCreated', created);
      if (founder === undefined) return created;
      const roles = [...new Set([...input.roles, ownerRole])];
      const place = { id: random.id(), projectId: project.id, teamId: id, userId: founder.id, roles };
      const membership = await membershipRepository.add(unit, founder, newMembership(unit, place));
      unit.record('membershipConfirmed', recorded(membership));
      announceMembership(unit, 'membershipCreated', { membership, account: founder, teamName: team.name });
      return created;
    },
    rename: async (unit, project, actor, id, name) => {
      const team = await lockAsOwner(unit, project, actor, id);
      unit.record('teamUpdated', { resource: resource(team), payload: { name } });
      return update(unit, project, team, { name });
    },
    changePrefs: async (unit, project, actor, id, prefs) => {
      const team = await lockAsOwner(unit, project, actor, id);
      unit.record('teamPrefsChanged', { resource: resource(team), payload: { name: team.name } });
      return update(unit, project, team, { prefs });
    },
    remove: async (unit, project, actor, id) => {
      const team = await lockAsOwner(unit, project, actor, id);
      const last = await get(unit, project, id);
      const users = await membershipRepository.dissolve(unit, project.id, id, () => unit.run(store.remove(team)));
      announce(unit, 'teamDeleted', last, { users });
      await takenIds.keep(unit, { projectId: project.id, kind: 'team', id });
      unit.record('teamDeleted', { resource: resource(team), payload: { name: team.name } });
    },
  };
}
