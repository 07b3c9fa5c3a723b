import { Failure } from '#src/contract/errors.js';
import { teamLimits } from '#src/contract/limits.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { announceMembership } from './announce.js';
import { type Membership, type MembershipStore, memberships, ownerRole } from './store.js';
import type { NamedMembership } from './view.js';

/** A membership that begins, and the invitations that end by it. */
interface Joined {
  readonly membership: Membership;
  readonly ended: readonly Membership[];
}

/**
 * Memberships as they are stored. A confirmed one stands in two places, with the team and with the user, and both change in one unit; callers
 * lock the team first and then the user, so that neither place can fall behind.
 */
export interface MembershipRepository {
  find(reader: Reader, projectId: string, id: string): Promise<Membership | undefined>;
  /** The membership of a user in a team, or the invitation that named the user. */
  ofUser(reader: Reader, projectId: string, teamId: string, userId: string): Promise<Membership | undefined>;
  /** The open invitation to a team that named an address. */
  ofAddress(reader: Reader, projectId: string, teamId: string, address: string): Promise<Membership | undefined>;
  isOwner(membership: Membership): boolean;
  /** Whether the team would be without an owner if this member left. */
  isLastOwner(unit: Unit, membership: Membership): Promise<boolean>;
  /** Those of these teams that have no owner, as after the deletion of the last one's account. */
  withoutOwner(reader: Reader, projectId: string, teamIds: readonly string[]): Promise<string[]>;
  /** Puts a user into a team or among the invited. Throws Failure `team_limit_exceeded`. */
  add(unit: Unit, account: UserRecord, membership: Membership): Promise<Membership>;
  /**
   * Makes somebody who is invited a member, which ends their other invitations to the team. Throws Failure `membership_already_confirmed`,
   * `team_limit_exceeded`.
   */
  confirm(unit: Unit, account: UserRecord, membership: Membership, change?: Partial<Membership>): Promise<Joined>;
  /** Gives the invitation of a user to another user. */
  passOn(unit: Unit, membership: Membership, to: UserRecord): Promise<Membership>;
  /** Changes a membership of the account. Throws Failure `team_limit_exceeded`. */
  change(unit: Unit, account: UserRecord, membership: Membership, change: Partial<Membership>): Promise<Membership>;
  remove(unit: Unit, membership: Membership): Promise<void>;
  /** Removes memberships and invitations of a project. */
  removeAll(unit: Unit, projectId: string, all: readonly Membership[]): Promise<void>;
  /** Runs what deletes a team, together with every membership of it. Returns the ids of those who were members. */
  dissolve(unit: Unit, projectId: string, teamId: string, remove: () => Promise<unknown>): Promise<string[]>;
}

/** Creates the repository of memberships. */
export function createMembershipRepository(store: MembershipStore): MembershipRepository {
  const decoded = async (reader: Reader, query: Parameters<Reader['one']>[0]): Promise<Membership | undefined> => {
    const row = await reader.one(query);
    return row && memberships.decode(row);
  };
  const copy = async (unit: Unit, projectId: string, userIds: readonly string[]): Promise<void> => {
    if (userIds.length > 0) await unit.run(store.copyToUsers(projectId, userIds));
  };
  const changed = async (unit: Unit, membership: Membership, change: Partial<Membership>): Promise<Membership> => {
    const all = { ...change, updatedAt: unit.now };
    await unit.run(store.update(membership, all));
    return { ...membership, ...all };
  };
  const isOwner = ({ confirm, roles }: Membership) => confirm && roles.includes(ownerRole);
  /** Every request of a user carries all roles that teams give it, so they are bounded together. */
  const demandRoom = ({ memberships }: UserRecord, { id, roles }: Pick<Membership, 'id' | 'roles'>): void => {
    const others = memberships.filter((other) => other.id !== id);
    if (others.length >= teamLimits.perUser) throw new Failure('team_limit_exceeded');
    const roleCount = others.reduce((sum, other) => sum + other.roles.length, roles.length);
    if (roleCount <= teamLimits.rolesPerUser) return;
    throw new Failure('team_limit_exceeded', {
      message: `A user has at most ${teamLimits.rolesPerUser} roles in all teams together.`,
    });
  };

  return {
    find: (reader, projectId, id) => decoded(reader, store.find({ projectId, id })),
    ofUser: (reader, projectId, teamId, userId) => decoded(reader, store.findOfUser(projectId, teamId, userId)),
    ofAddress: (reader, projectId, teamId, address) => decoded(reader, store.findOfAddress(projectId, teamId, address)),
    isOwner,
    isLastOwner: async (unit, membership) => {
      if (!isOwner(membership)) return false;
      const row = await unit.one(store.owners(membership.projectId, membership.teamId));
      return Number(row?.total ?? 0) <= 1;
    },
    withoutOwner: async (reader, projectId, teamIds) => {
      if (teamIds.length === 0) return [];
      const owned = new Set((await reader.all(store.owned(projectId, teamIds))).map((row) => row.team_id));
      return teamIds.filter((id) => !owned.has(id));
    },
    add: async (unit, account, membership) => {
      if (membership.confirm) demandRoom(account, membership);
      await unit.run(store.insert(membership));
      if (membership.confirm) await copy(unit, membership.projectId, [membership.userId]);
      return membership;
    },
    confirm: async (unit, account, membership, change = {}) => {
      if (account.memberships.some(({ teamId }) => teamId === membership.teamId))
        throw new Failure('membership_already_confirmed');
      demandRoom(account, { ...membership, ...change });
      const ended = (await unit.all(store.findOthers(membership, account))).map((row) => memberships.decode(row));
      for (const other of ended) await unit.run(store.remove(other));
      const now = { userId: account.id, address: null, joined: unit.now, confirm: true };
      const confirmed = await changed(unit, membership, { ...change, ...now });
      await copy(unit, membership.projectId, [account.id]);
      return { membership: confirmed, ended };
    },
    passOn: (unit, membership, { id: userId }) => changed(unit, membership, { userId }),
    change: async (unit, account, membership, change) => {
      if (membership.confirm) demandRoom(account, { ...membership, ...change });
      const after = await changed(unit, membership, change);
      if (membership.confirm) await copy(unit, membership.projectId, [membership.userId]);
      return after;
    },
    remove: async (unit, membership) => {
      await unit.run(store.remove(membership));
      if (membership.confirm) await copy(unit, membership.projectId, [membership.userId]);
    },
    removeAll: async (unit, projectId, all) => {
      const ids = all.map(({ id }) => id);
      await unit.run(store.removeAll(projectId, ids));
      const joined = all.filter(({ confirm }) => confirm).map(({ userId }) => userId);
      await copy(unit, projectId, [...new Set(joined)]);
    },
    dissolve: async (unit, projectId, teamId, remove) => {
      const locked = await unit.all(store.lockMembers(projectId, teamId));
      await remove();
      const members = locked.map(({ id }) => String(id));
      await copy(unit, projectId, members);
      return members;
    },
  };
}

/** A confirmed membership. */
export function newMembership(
  unit: Unit,
  input: Pick<Membership, 'id' | 'projectId' | 'teamId' | 'userId' | 'roles'>,
): Membership {
  const { now } = unit;
  return {
    ...input,
    invitedAs: { name: '', email: '', phone: '' },
    alias: null,
    address: null,
    recipient: null,
    secretDigest: null,
    invited: now,
    joined: now,
    confirm: true,
    createdAt: now,
    updatedAt: now,
  };
}

/** Records that a membership or an invitation has ended. */
export function recordEnded(unit: Unit, named: NamedMembership): void {
  unit.record('membershipDeleted', recorded(named.membership));
  announceMembership(unit, 'membershipDeleted', named);
}

/** Records that somebody has joined, with or without an invitation, and which invitations ended by it. */
export function recordJoined(
  unit: Unit,
  { membership, ended }: Joined,
  of: Omit<NamedMembership, 'membership'>,
  isInvited: boolean,
): void {
  unit.record('membershipConfirmed', recorded(membership));
  announceMembership(unit, isInvited ? 'membershipUpdated' : 'membershipCreated', { ...of, membership });
  for (const other of ended) recordEnded(unit, { ...of, membership: other });
}

/** What is recorded with a change of a membership. */
export function recorded({ id, teamId, userId, roles }: Membership) {
  return {
    resource: `teams/${teamId}/memberships/${id}`,
    userId,
    payload: { teamId, userId, roles: [...roles] },
  };
}
