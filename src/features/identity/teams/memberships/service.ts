import { type Look, mapLook } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import {
  type ListField,
  type ListQueries,
  type ListRequest,
  type Lists,
  readList,
} from '#src/platform/list-query/index.js';
import { type Users, userTable } from '../../users/index.js';
import type { Caller, Teams } from '../service.js';
import { announceMembership } from './announce.js';
import { type MembershipRepository, recordEnded, recorded } from './repository.js';
import { type EndingOf, type Membership, type MembershipStore, memberships, ownerRole } from './store.js';
import type { NamedMembership, Sight } from './view.js';

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
/** A name that the team does not see yet cannot be searched for either. */
const searchedInTeam = [
  'memberships.id',
  'memberships.user_id',
  `(case when memberships.confirm = 1 then users.name else '' end)`,
];
/** What a team may ask of whom it has invited is the id that it sees. */
const shownId = `(case when memberships.confirm = 1 then memberships.user_id else coalesce(memberships.alias, memberships.user_id) end)`;
const searchedOfUser = ['memberships.id', 'memberships.team_id', 'teams.name'];
const fieldsOfMembers: Readonly<Record<string, ListField>> = {
  ...fields,
  userId: { ...fields.userId, column: shownId },
};

interface Deps {
  readonly users: Users;
  readonly lists: Lists;
  readonly teams: Teams;
  readonly membershipRepository: MembershipRepository;
}

interface NamedMemberships {
  readonly total: number;
  readonly memberships: NamedMembership[];
}

/** What members and owners do with memberships and invitations that exist. */
export interface Memberships {
  /** What the caller is shown of a member: everything of themselves, of somebody invited what the invitation named. */
  sightOf(project: Project, actor: Caller, named: NamedMembership): Sight;
  /** A page of the memberships and invitations of a team. */
  list(project: Project, actor: Caller, teamId: string, request: ListRequest): Promise<NamedMemberships>;
  /** The same of a user. Throws Failure `user_not_found`. */
  listOfUser(project: Project, userId: string, request: ListRequest): Promise<NamedMemberships>;
  /** Throws Failure `membership_not_found`. */
  get(project: Project, actor: Caller, teamId: string, id: string): Promise<NamedMembership>;
  /** Throws Failure `membership_downgrade_prohibited` where the team would be without an owner. */
  changeRoles(
    unit: Unit,
    project: Project,
    actor: Caller,
    input: { readonly teamId: string; readonly id: string; readonly roles: readonly string[] },
  ): Promise<NamedMembership>;
  /** Ends a membership or takes an invitation back. Throws Failure `membership_deletion_prohibited` for the last owner. */
  remove(unit: Unit, project: Project, actor: Caller, teamId: string, id: string): Promise<void>;
  /**
   * Ends every membership and invitation of a user who is deleted, also that of a last owner, or every open invitation to some recipients. The
   * unit holds the user, so that no membership is added meanwhile.
   */
  endAll(unit: Unit, project: Project, of: EndingOf): Promise<void>;
}

/** Creates the service of memberships. */
export function createMemberships({ db }: Pick<Runtime, 'db'>, store: MembershipStore, deps: Deps): Memberships {
  const { users, lists, teams, membershipRepository } = deps;
  const named = (row: Row): NamedMembership => ({
    membership: memberships.decode(row, 'membership'),
    account: userTable.decode(row, 'user'),
    teamName: String(row.team_name),
  });
  const page = async (
    reader: Reader,
    project: Project,
    of: Parameters<MembershipStore['rows']>[1],
    request: ListQueries,
    maxBytes: number,
    actor?: Caller,
  ): Promise<Look<NamedMemberships>> => {
    const search = 'teamId' in of ? searchedInTeam : searchedOfUser;
    const isMember = actor?.kind === 'user';
    const listing = {
      rows: store.rows(project.id, of),
      select: store.columns(),
      columns: ['membership', 'user', 'team_name'],
      fields: isMember ? fieldsOfMembers : fields,
      search: isMember ? search.map((column) => (column === fields.userId.column ? shownId : column)) : search,
    };
    const look = await lists.page(reader, listing, request, maxBytes);
    return mapLook(look, ({ total, rows }) => ({ total, memberships: rows.map(named) }));
  };
  /** Locks the user of a membership. */
  const lockUser = async (unit: Unit, project: Project, membership: Membership) => {
    const account = await users.lockById(unit, project.id, membership.userId);
    // The deletion of an account does not wait for the lock of a team.
    if (account === undefined) throw new Failure('membership_not_found');
    return account;
  };
  /** The membership to be removed: an owner may name any of the team, everybody else the own. */
  const removable = async (unit: Unit, project: Project, actor: Caller, teamId: string, id: string) => {
    const team = await teams.lockById(unit, project, teamId);
    const membership = await membershipRepository.find(unit, project.id, id);
    const isOwn = actor.kind === 'user' && membership?.userId === actor.id && membership.teamId === teamId;
    if (!isOwn) await teams.lockAsOwner(unit, project, actor, teamId);
    if (membership === undefined) throw new Failure('team_invite_not_found');
    if (membership.teamId !== teamId) throw new Failure('team_membership_mismatch');
    return { membership, teamName: team.name };
  };

  return {
    sightOf: (project, actor, { membership }) => {
      if (actor.kind !== 'user' || actor.id === membership.userId) return 'everything';
      const own = actor.account.memberships.find(({ teamId }) => teamId === membership.teamId);
      const mayReach = !project.settings['teams.hideMembers'] || own?.roles.includes(ownerRole) === true;
      if (!membership.confirm) return mayReach ? 'asInvited' : 'asInvitedWithoutContacts';
      return mayReach ? 'everything' : 'withoutContacts';
    },
    list: (project, actor, teamId, request) =>
      readList(db, request, async (snapshot, maxBytes) => {
        await teams.get(snapshot, project, actor, teamId);
        return page(snapshot, project, { teamId }, request, maxBytes, actor);
      }),
    listOfUser: (project, userId, request) =>
      readList(db, request, async (snapshot, maxBytes) => {
        await users.get(snapshot, project.id, userId);
        return page(snapshot, project, { userId }, request, maxBytes);
      }),
    get: (project, actor, teamId, id) =>
      db.snapshot(async (snapshot) => {
        await teams.get(snapshot, project, actor, teamId);
        const queries = [JSON.stringify({ method: 'equal', attribute: '$id', values: [id] })];
        const request = { queries, total: false };
        const { value } = await page(snapshot, project, { teamId }, request, Number.POSITIVE_INFINITY, actor);
        const [found] = value?.memberships ?? [];
        if (found === undefined) throw new Failure('membership_not_found');
        return found;
      }),
    changeRoles: async (unit, project, actor, input) => {
      const team = await teams.lockAsOwner(unit, project, actor, input.teamId);
      const membership = await membershipRepository.find(unit, project.id, input.id);
      if (membership?.teamId !== input.teamId) throw new Failure('membership_not_found');
      const account = await lockUser(unit, project, membership);
      const roles = [...new Set(input.roles)];
      if (!roles.includes(ownerRole) && (await membershipRepository.isLastOwner(unit, membership)))
        throw new Failure('membership_downgrade_prohibited');
      const changed = await membershipRepository.change(unit, account, membership, { roles });
      unit.record('membershipUpdated', recorded(changed));
      const after = { membership: changed, account, teamName: team.name };
      announceMembership(unit, 'membershipUpdated', after);
      return after;
    },
    remove: async (unit, project, actor, teamId, id) => {
      const { membership, teamName } = await removable(unit, project, actor, teamId, id);
      const account = await lockUser(unit, project, membership);
      if (await membershipRepository.isLastOwner(unit, membership)) throw new Failure('membership_deletion_prohibited');
      await membershipRepository.remove(unit, membership);
      recordEnded(unit, { membership, account, teamName });
    },
    endAll: async (unit, project, of) => {
      const ended = (await unit.all(store.lockAll(project.id, of))).map(named);
      if (ended.length === 0) return;
      await membershipRepository.removeAll(
        unit,
        project.id,
        ended.map(({ membership }) => membership),
      );
      for (const one of ended) recordEnded(unit, one);
    },
  };
}
