import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { type Accounts, users } from '../../accounts/index.js';
import type { Asked, ListField, Lists } from '../../lists/index.js';
import type { Caller, Teams } from '../service.js';
import { type Roster, recorded } from './roster.js';
import { type Membership, type MembershipStore, memberships, ownerRole } from './store.js';
import type { NamedMembership, Sight } from './view.js';

const fields: Readonly<Record<string, ListField>> = {
  $id: { column: 'memberships.id', type: 'text' },
  $createdAt: { column: 'memberships.created_at', type: 'instant' },
  $updatedAt: { column: 'memberships.updated_at', type: 'instant' },
  userId: { column: 'memberships.user_id', type: 'text' },
  teamId: { column: 'memberships.team_id', type: 'text' },
  invited: { column: 'memberships.invited', type: 'instant' },
  joined: { column: 'memberships.joined', type: 'instant', nullable: true },
  confirm: { column: 'memberships.confirm', type: 'boolean' },
  roles: { column: 'memberships.roles', type: 'texts' },
};
/** A name that the team does not see yet cannot be searched for either. */
const searchedInTeam = [
  'memberships.id',
  'memberships.user_id',
  `(case when memberships.confirm = 1 then users.name else '' end)`,
];
const searchedOfUser = ['memberships.id', 'memberships.team_id', 'teams.name'];

interface Doors {
  readonly accounts: Accounts;
  readonly lists: Lists;
  readonly teams: Teams;
  readonly roster: Roster;
}

/** What members and owners do with places in a team that exist. */
export function createMemberships({ db }: Pick<Platform, 'db'>, store: MembershipStore, doors: Doors) {
  const { accounts, lists, teams, roster } = doors;
  const named = (row: Row): NamedMembership => ({
    membership: memberships.decode(row, 'membership'),
    account: users.decode(row, 'user'),
    teamName: String(row.team_name),
  });
  const page = async (
    reader: Reader,
    project: Project,
    of: Parameters<MembershipStore['rows']>[1],
    asked: Asked,
  ): Promise<{ total: number; memberships: NamedMembership[] }> => {
    const search = 'teamId' in of ? searchedInTeam : searchedOfUser;
    const listing = { rows: store.rows(project.id, of), select: store.columns(), fields, search };
    const { total, rows } = await lists.page(reader, listing, asked);
    return { total, memberships: rows.map(named) };
  };
  /** A membership of the team whose user is held as well. */
  const hold = async (unit: Unit, project: Project, membership: Membership) => {
    const account = await accounts.hold(unit, project.id, membership.userId);
    // Whoever deletes an account waits for nobody's team.
    if (account === undefined) throw new Failure('membership_not_found');
    return account;
  };
  /** The membership to be removed: an owner may name any of the team, everybody else the own. */
  const removable = async (unit: Unit, project: Project, actor: Caller, teamId: string, id: string) => {
    await teams.hold(unit, project, teamId);
    const own = actor.kind === 'user' ? await roster.ofUser(unit, project.id, teamId, actor.id) : undefined;
    if (own?.id !== id) await teams.holdAsOwner(unit, project, actor, teamId);
    const membership = await roster.find(unit, project.id, id);
    if (membership === undefined) throw new Failure('team_invite_not_found');
    if (membership.teamId !== teamId) throw new Failure('team_membership_mismatch');
    return membership;
  };

  return {
    /** What the caller is shown of a member: everything of themselves, of somebody invited what the invitation named. */
    sightOf: (project: Project, actor: Caller, { membership }: NamedMembership): Sight => {
      if (actor.kind !== 'user' || actor.id === membership.userId) return 'everything';
      if (!membership.confirm) return 'asInvited';
      const own = actor.account.memberships.find(({ teamId }) => teamId === membership.teamId);
      const mayReach = !project.settings['teams.hideMembers'] || own?.roles.includes(ownerRole) === true;
      return mayReach ? 'everything' : 'withoutContacts';
    },
    /** A page of the memberships and invitations of a team. */
    list: async (
      project: Project,
      actor: Caller,
      teamId: string,
      asked: Asked,
    ): Promise<{ total: number; memberships: NamedMembership[] }> =>
      db.snapshot(async (snapshot) => {
        await teams.get(snapshot, project, actor, teamId);
        return page(snapshot, project, { teamId }, asked);
      }),
    /** The same of a user. Throws Failure `user_not_found`. */
    listOfUser: async (
      project: Project,
      userId: string,
      asked: Asked,
    ): Promise<{ total: number; memberships: NamedMembership[] }> =>
      db.snapshot(async (snapshot) => {
        await accounts.get(snapshot, project.id, userId);
        return page(snapshot, project, { userId }, asked);
      }),
    /** Throws Failure `membership_not_found`. */
    get: async (project: Project, actor: Caller, teamId: string, id: string): Promise<NamedMembership> =>
      db.snapshot(async (snapshot) => {
        await teams.get(snapshot, project, actor, teamId);
        const queries = [JSON.stringify({ method: 'equal', attribute: '$id', values: [id] })];
        const [found] = (await page(snapshot, project, { teamId }, { queries, total: false })).memberships;
        if (found === undefined) throw new Failure('membership_not_found');
        return found;
      }),
    /** Throws Failure `membership_downgrade_prohibited` where the team would be without an owner. */
    changeRoles: async (
      unit: Unit,
      project: Project,
      actor: Caller,
      given: { readonly teamId: string; readonly id: string; readonly roles: readonly string[] },
    ): Promise<NamedMembership> => {
      const team = await teams.holdAsOwner(unit, project, actor, given.teamId);
      const membership = await roster.find(unit, project.id, given.id);
      if (membership?.teamId !== given.teamId) throw new Failure('membership_not_found');
      const account = await hold(unit, project, membership);
      const roles = [...new Set(given.roles)];
      if (!roles.includes(ownerRole) && (await roster.isLastOwner(unit, membership)))
        throw new Failure('membership_downgrade_prohibited');
      const changed = await roster.change(unit, membership, { roles });
      unit.record('membershipUpdated', recorded(changed));
      return { membership: changed, account, teamName: team.name };
    },
    /** Ends a membership or takes an invitation back. Throws Failure `membership_deletion_prohibited` for the last owner. */
    remove: async (unit: Unit, project: Project, actor: Caller, teamId: string, id: string): Promise<void> => {
      const membership = await removable(unit, project, actor, teamId, id);
      await hold(unit, project, membership);
      if (await roster.isLastOwner(unit, membership)) throw new Failure('membership_deletion_prohibited');
      await roster.remove(unit, membership);
      unit.record('membershipDeleted', recorded(membership));
    },
  };
}
