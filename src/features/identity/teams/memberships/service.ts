import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { ListField, ListQueries, ListRequest, Lists } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Installation } from '../../../installation/index.js';
import type { Claims } from '../../claims/index.js';
import type { Sessions } from '../../sessions/index.js';
import type { TakenIds } from '../../taken-ids/index.js';
import { type Users, userTable } from '../../users/index.js';
import { announceMembership } from '../model/announce.js';
import {
  type EndingOf,
  type Membership,
  type MembershipStore,
  memberships,
  ownerRole,
} from '../model/membership-store.js';
import type { NamedMembership, Sight } from '../model/membership-view.js';
import { type MembershipRepository, membershipRecord, recordEnded } from '../model/memberships.js';
import type { TeamCaller, Teams } from '../model/service.js';

const fields = {
  $id: { column: 'memberships.id', type: 'text' },
  $createdAt: { column: 'memberships.created_at', type: 'instant' },
  $updatedAt: { column: 'memberships.updated_at', type: 'instant' },
  userId: { column: 'memberships.user_id', type: 'text' },
  teamId: { column: 'memberships.team_id', type: 'text' },
  invited: { column: 'memberships.invited', type: 'instant' },
  joined: { column: 'memberships.joined', type: 'instant', nullable: true },
  confirm: { column: 'memberships.confirm', type: 'boolean' },
  roles: { column: 'memberships.roles', type: 'texts' },
} as const satisfies Readonly<Record<string, ListField>>;
/** Names that the team cannot see yet must not be searchable. */
const searchedInTeam = [
  'memberships.id',
  'memberships.user_id',
  `(case when memberships.confirm = 1 then users.name else '' end)`,
];
/** Team members may query an invited user only by the id they see. */
const shownId = `(case when memberships.confirm = 1 then memberships.user_id else coalesce(memberships.alias, memberships.user_id) end)`;
const searchedOfUser = ['memberships.id', 'memberships.team_id', 'teams.name'];
const fieldsOfMembers: Readonly<Record<string, ListField>> = {
  ...fields,
  userId: { ...fields.userId, column: shownId },
};

/** Features and stores that memberships depend on. */
export interface MembershipDeps extends Pick<Runtime, 'db' | 'random'>, Pick<Installation, 'courier' | 'limits'> {
  readonly store: MembershipStore;
  readonly users: Users;
  readonly claims: Claims;
  readonly sessions: Sessions;
  readonly takenIds: TakenIds;
  readonly lists: Lists;
  readonly teams: Teams;
  readonly membershipRepository: MembershipRepository;
}

type Deps = MembershipDeps;

interface NamedMemberships {
  readonly total: number;
  readonly memberships: NamedMembership[];
}

/** Operations on existing memberships and invitations. */
export interface Memberships {
  /** The fields of a membership that the caller may see: all of their own; of an invited user only the data from the invitation. */
  sightOf(project: Project, actor: TeamCaller, named: NamedMembership): Sight;
  /** A page of the memberships and invitations of a team. */
  list(project: Project, actor: TeamCaller, teamId: string, request: ListRequest): Promise<NamedMemberships>;
  /** A page of the memberships and invitations of a user. Throws Failure `user_not_found`. */
  listOfUser(project: Project, userId: string, request: ListRequest): Promise<NamedMemberships>;
  /** Throws Failure `membership_not_found`. */
  get(project: Project, actor: TeamCaller, teamId: string, id: string): Promise<NamedMembership>;
  /** Throws Failure `membership_downgrade_prohibited` if the team would have no owner. */
  changeRoles(
    unit: Unit,
    project: Project,
    actor: TeamCaller,
    input: { readonly teamId: string; readonly id: string; readonly roles: readonly string[] },
  ): Promise<NamedMembership>;
  /** Ends a membership or withdraws an invitation. Throws Failure `membership_deletion_prohibited` for the last owner. */
  remove(unit: Unit, project: Project, actor: TeamCaller, teamId: string, id: string): Promise<void>;
  /**
   * Ends all memberships and invitations of a deleted user, even as the last owner, or all open invitations to some recipients. The unit
   * must have locked the user, so that no membership is added concurrently.
   */
  endAll(unit: Unit, project: Project, of: EndingOf): Promise<void>;
}

/** Creates the memberships service. */
export function createMemberships(deps: Deps): Memberships {
  return { sightOf, ...bind(deps, { list, listOfUser, get, changeRoles, remove, endAll }) };
}

function sightOf(project: Project, actor: TeamCaller, { membership }: NamedMembership): Sight {
  if (actor.kind !== 'user' || actor.id === membership.userId) return 'everything';
  const own = actor.account.memberships.find(({ teamId }) => teamId === membership.teamId);
  const mayReach = !project.settings['teams.hideMembers'] || own?.roles.includes(ownerRole) === true;
  if (!membership.confirm) return mayReach ? 'asInvited' : 'asInvitedWithoutContacts';
  return mayReach ? 'everything' : 'withoutContacts';
}

function list(deps: Deps, project: Project, actor: TeamCaller, teamId: string, request: ListRequest) {
  return readAnswer(deps.db, request, async (snapshot) => {
    await deps.teams.get(snapshot, project, actor, teamId);
    return page(deps, snapshot, project, { teamId }, request, actor);
  });
}

function listOfUser(deps: Deps, project: Project, userId: string, request: ListRequest) {
  return readAnswer(deps.db, request, async (snapshot) => {
    await deps.users.get(snapshot, project.id, userId);
    return page(deps, snapshot, project, { userId }, request);
  });
}

function get(deps: Deps, project: Project, actor: TeamCaller, teamId: string, id: string): Promise<NamedMembership> {
  return deps.db.snapshot(async (snapshot) => {
    await deps.teams.get(snapshot, project, actor, teamId);
    const queries = [JSON.stringify({ method: 'equal', attribute: '$id', values: [id] })];
    const request = { queries, total: false };
    const [found] = (await page(deps, snapshot, project, { teamId }, request, actor)).memberships;
    if (found === undefined) throw new Failure('membership_not_found');
    return found;
  });
}

async function page(
  { store, lists }: Deps,
  reader: Reader,
  project: Project,
  of: Parameters<MembershipStore['rows']>[1],
  request: ListQueries,
  actor?: TeamCaller,
): Promise<NamedMemberships> {
  const search = 'teamId' in of ? searchedInTeam : searchedOfUser;
  const isMember = actor?.kind === 'user';
  const listing = {
    rows: store.rows(project.id, of),
    select: store.columns(),
    columns: ['membership', 'user', 'team_name'],
    fields: isMember ? fieldsOfMembers : fields,
    search: isMember ? search.map((column) => (column === fields.userId.column ? shownId : column)) : search,
  };
  const { total, rows } = await lists.page(reader, listing, request);
  return { total, memberships: rows.map(named) };
}

function named(row: Row): NamedMembership {
  return {
    membership: memberships.decode(row, 'membership'),
    account: userTable.decode(row, 'user'),
    teamName: String(row.team_name),
  };
}

async function changeRoles(
  deps: Deps,
  unit: Unit,
  project: Project,
  actor: TeamCaller,
  input: Parameters<Memberships['changeRoles']>[3],
): Promise<NamedMembership> {
  const { teams, membershipRepository } = deps;
  const team = await teams.lockAsOwner(unit, project, actor, input.teamId);
  const membership = await membershipRepository.find(unit, project.id, input.id);
  if (membership?.teamId !== input.teamId) throw new Failure('membership_not_found');
  const account = await lockUser(deps, unit, project, membership);
  const roles = [...new Set(input.roles)];
  if (!roles.includes(ownerRole) && (await membershipRepository.isLastOwner(unit, membership)))
    throw new Failure('membership_downgrade_prohibited');
  const changed = await membershipRepository.change(unit, account, membership, { roles });
  unit.record('membershipUpdated', membershipRecord(changed));
  const after = { membership: changed, account, teamName: team.name };
  announceMembership(unit, 'membershipUpdated', after);
  return after;
}

async function lockUser({ users }: Deps, unit: Unit, project: Project, membership: Membership) {
  const account = await users.lockById(unit, project.id, membership.userId);
  // Deleting an account does not wait for team locks.
  if (account === undefined) throw new Failure('membership_not_found');
  return account;
}

async function remove(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, teamId: string, id: string) {
  const { membershipRepository } = deps;
  const { membership, teamName } = await removable(deps, unit, project, actor, teamId, id);
  const account = await lockUser(deps, unit, project, membership);
  if (await membershipRepository.isLastOwner(unit, membership)) throw new Failure('membership_deletion_prohibited');
  await membershipRepository.remove(unit, membership);
  recordEnded(unit, { membership, account, teamName });
}

/** The membership to remove: owners may remove any of the team, other members only their own. */
async function removable(deps: Deps, unit: Unit, project: Project, actor: TeamCaller, teamId: string, id: string) {
  const { teams, membershipRepository } = deps;
  const team = await teams.lockById(unit, project, teamId);
  const membership = await membershipRepository.find(unit, project.id, id);
  const isOwn = actor.kind === 'user' && membership?.userId === actor.id && membership.teamId === teamId;
  if (!isOwn) await teams.lockAsOwner(unit, project, actor, teamId);
  if (membership === undefined) throw new Failure('team_invite_not_found');
  if (membership.teamId !== teamId) throw new Failure('team_membership_mismatch');
  return { membership, teamName: team.name };
}

async function endAll({ store, membershipRepository }: Deps, unit: Unit, project: Project, of: EndingOf) {
  const ended = (await unit.all(store.lockAll(project.id, of))).map(named);
  if (ended.length === 0) return;
  const removed = ended.map(({ membership }) => membership);
  await membershipRepository.removeAll(unit, project.id, removed);
  for (const one of ended) recordEnded(unit, one);
}
