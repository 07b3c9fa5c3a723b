import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Audience } from '#src/contract/events.js';
import type { Project } from '#src/contract/project.js';
import { type Instant, uniqueId } from '#src/contract/shapes.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { ListField, ListRequest, Lists } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { printJson } from '#src/platform/text/json.js';
import type { Sessions } from '../../sessions/index.js';
import type { TakenIds } from '../../taken-ids/index.js';
import { announceMembership } from './announce.js';
import { ownerRole } from './membership-store.js';
import { isOwner, type MembershipRepository, membershipRecord, newMembership } from './memberships.js';
import { type CountedTeam, memberCount, type Team, type TeamStore, teams } from './store.js';
import { toTeam } from './view.js';

/** Callers of team operations: users with the rights of their membership, server keys and operators without restrictions. */
export type TeamCaller = Exclude<WireActor, { kind: 'guest' }>;

const fields: Readonly<Record<string, ListField>> = {
  $id: { column: 'teams.id', type: 'text', index: 'unique' },
  $createdAt: { column: 'teams.created_at', type: 'instant', index: 'order' },
  $updatedAt: { column: 'teams.updated_at', type: 'instant' },
  name: { column: 'teams.name', type: 'text', index: 'order' },
  total: { column: memberCount, type: 'integer' },
};

type Prefs = Team['prefs'];

interface Deps extends Pick<Runtime, 'db' | 'random'> {
  readonly store: TeamStore;
  readonly sessions: Sessions;
  readonly lists: Lists;
  readonly membershipRepository: MembershipRepository;
  readonly takenIds: TakenIds;
}

/** Teams of users. Only members can see a team; only its owners, server keys and operators can change it. */
export interface Teams {
  /**
   * Reads the team and locks it until the unit ends. Joining, leaving and role changes wait for this lock; deleting an account does not.
   * Throws Failure `team_not_found`.
   */
  lockById(unit: Unit, project: Project, id: string): Promise<Team>;
  /** `lockById` for owners. Throws Failure `user_unauthorized` for other members, `team_not_found` for everyone else. */
  lockAsOwner(unit: Unit, project: Project, actor: TeamCaller, id: string): Promise<Team>;
  /** A team as its members see it. Throws Failure `team_not_found` for everyone else. */
  get(reader: Reader, project: Project, actor: TeamCaller, id: string): Promise<CountedTeam>;
  /** A page of the caller's teams; of all teams for a server key. */
  list(project: Project, actor: TeamCaller, request: ListRequest): Promise<{ total: number; teams: CountedTeam[] }>;
  /** Creates a team. A user who creates one becomes its first member and owner. Throws Failure `team_already_exists`. */
  create(unit: Unit, project: Project, actor: TeamCaller, input: TeamInput): Promise<CountedTeam>;
  rename(unit: Unit, project: Project, actor: TeamCaller, id: string, name: string): Promise<CountedTeam>;
  changePrefs(unit: Unit, project: Project, actor: TeamCaller, id: string, prefs: Prefs): Promise<CountedTeam>;
  /** Deletes a team with its memberships and invitations. */
  remove(unit: Unit, project: Project, actor: TeamCaller, id: string): Promise<void>;
}

interface TeamInput {
  readonly id: string;
  readonly name: string;
  /** Roles of the first member, in addition to `owner`. */
  readonly roles: readonly string[];
  /** The time of an imported team. */
  readonly createdAt?: Instant;
}

/** Creates the teams service. */
export function createTeams(deps: Deps): Teams {
  return bind(deps, { lockById, lockAsOwner, get, list, create, rename, changePrefs, remove });
}

async function lockById({ store }: Deps, unit: Unit, project: Project, id: string): Promise<Team> {
  const row = await unit.one(store.lockById({ projectId: project.id, id }));
  if (row === undefined) throw new Failure('team_not_found');
  return teams.decode(row);
}

async function lockAsOwner(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, id: string): Promise<Team> {
  const { membershipRepository } = deps;
  const team = await lockById(deps, unit, project, id);
  if (actor.kind !== 'user') return team;
  const own = await membershipRepository.ofUser(unit, project.id, id, actor.id);
  if (own?.confirm !== true) throw new Failure('team_not_found');
  if (!isOwner(own)) throw new Failure('user_unauthorized');
  return team;
}

async function get(deps: Deps, reader: Reader, project: Project, actor: TeamCaller, id: string): Promise<CountedTeam> {
  const isOutside = actor.kind === 'user' && !actor.account.memberships.some(({ teamId }) => teamId === id);
  if (isOutside) throw new Failure('team_not_found');
  return find(deps, reader, project, id);
}

async function find({ store }: Deps, reader: Reader, project: Project, id: string): Promise<CountedTeam> {
  const row = await reader.one(store.find({ projectId: project.id, id }));
  if (row === undefined) throw new Failure('team_not_found');
  return counted(row);
}

function counted(row: Row): CountedTeam {
  return { ...teams.decode(row), total: Number(row.total) };
}

async function list({ db, lists, store }: Deps, project: Project, actor: TeamCaller, request: ListRequest) {
  const ids = actor.kind === 'user' ? actor.account.memberships.map(({ teamId }) => teamId) : null;
  const listing = {
    rows: store.rows(project.id, ids),
    select: store.columns(),
    fields,
    search: ['teams.name', 'teams.id'],
    ...(ids === null && {
      searchIndex: { table: 'teams', scope: ['project_id', project.id], texts: ['id', 'name'] } as const,
      isLarge: true as const,
    }),
  };
  const { total, rows } = await lists.read(db, listing, request);
  return { total, teams: rows.map(counted) };
}

async function create(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, input: TeamInput) {
  const { random, store, sessions, membershipRepository, takenIds } = deps;
  const founder = actor.kind === 'user' ? await sessions.holdCaller(unit, project, actor) : undefined;
  const id = input.id === uniqueId ? random.id() : input.id;
  const team = {
    projectId: project.id,
    id,
    name: input.name,
    prefs: {},
    createdAt: input.createdAt ?? unit.now,
    updatedAt: unit.now,
  };
  if ((await unit.one(store.insert(team))) === undefined) throw new Failure('team_already_exists');
  if (input.id !== uniqueId && (await takenIds.has(unit, { projectId: project.id, kind: 'team', id })))
    throw new Failure('team_already_exists');
  unit.record('teamCreated', { resource: resourceOf(team), payload: { name: team.name } });
  const created = { ...team, total: founder === undefined ? 0 : 1 };
  announce(unit, 'teamCreated', created);
  if (founder === undefined) return created;
  const roles = [...new Set([...input.roles, ownerRole])];
  const place = { id: random.id(), projectId: project.id, teamId: id, userId: founder.id, roles };
  const membership = await membershipRepository.add(unit, founder, newMembership(unit, place));
  unit.record('membershipConfirmed', membershipRecord(membership));
  announceMembership(unit, 'membershipCreated', { membership, account: founder, teamName: team.name });
  return created;
}

function resourceOf({ id }: Team): string {
  return `teams/${id}`;
}

function announce(
  unit: Unit,
  event: 'teamCreated' | 'teamUpdated' | 'teamDeleted',
  team: CountedTeam,
  { audience = { team: team.id }, changed = [] }: { readonly audience?: Audience; readonly changed?: string[] } = {},
): void {
  unit.announce(event, { resource: resourceOf(team), data: printJson(toTeam(team)), audience, changed });
}

async function rename(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, id: string, name: string) {
  const team = await lockAsOwner(deps, unit, project, actor, id);
  unit.record('teamUpdated', { resource: resourceOf(team), payload: { name } });
  return update(deps, unit, project, team, { name });
}

async function changePrefs(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, id: string, prefs: Prefs) {
  const team = await lockAsOwner(deps, unit, project, actor, id);
  unit.record('teamPrefsChanged', { resource: resourceOf(team), payload: { name: team.name } });
  return update(deps, unit, project, team, { prefs });
}

async function update(deps: Deps, unit: Unit, project: Project, team: Team, change: Partial<Team>) {
  await unit.run(deps.store.update(team, { ...change, updatedAt: unit.now }));
  const changed = await find(deps, unit, project, team.id);
  announce(unit, 'teamUpdated', changed, { changed: 'prefs' in change ? ['prefs'] : [] });
  return changed;
}

async function remove(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, id: string): Promise<void> {
  const { store, membershipRepository, takenIds } = deps;
  const team = await lockAsOwner(deps, unit, project, actor, id);
  const last = await find(deps, unit, project, id);
  const users = await membershipRepository.dissolve(unit, project.id, id, () => unit.run(store.remove(team)));
  announce(unit, 'teamDeleted', last, { audience: { users } });
  await takenIds.keep(unit, { projectId: project.id, kind: 'team', id });
  unit.record('teamDeleted', { resource: resourceOf(team), payload: { name: team.name } });
}
