import { Failure } from '#src/contract/errors.js';
import { teamLimits } from '#src/contract/limits.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { announceMembership } from './announce.js';
import { type Membership, type MembershipStore, memberships, ownerRole } from './membership-store.js';
import type { NamedMembership } from './membership-view.js';

type Change = Partial<Membership>;

/** A new membership and the invitations that it ends. */
interface Joined {
  readonly membership: Membership;
  readonly ended: readonly Membership[];
}

/**
 * Stored memberships. A confirmed one is stored twice, with the team and with the user, and both copies change in one unit. Callers lock
 * the team first and then the user, so that neither copy becomes stale.
 */
export interface MembershipRepository {
  find(reader: Reader, projectId: string, id: string): Promise<Membership | undefined>;
  /** True if a membership of any project has the id. */
  isIdTaken(reader: Reader, id: string): Promise<boolean>;
  /** The membership of a user in a team, or the open invitation by user id. */
  ofUser(reader: Reader, projectId: string, teamId: string, userId: string): Promise<Membership | undefined>;
  /** The open invitation to a team by email address. */
  ofAddress(reader: Reader, projectId: string, teamId: string, address: string): Promise<Membership | undefined>;
  /** True if the team would have no owner without this member. */
  isLastOwner(unit: Unit, membership: Membership): Promise<boolean>;
  /** Returns the teams that have no owner, for example because the last owner's account was deleted. */
  withoutOwner(reader: Reader, projectId: string, teamIds: readonly string[]): Promise<string[]>;
  /** Stores a membership or an invitation. Throws Failure `team_limit_exceeded`. */
  add(unit: Unit, account: UserRecord, membership: Membership): Promise<Membership>;
  /**
   * Confirms an invitation and ends the user's other invitations to the team. Throws Failure `membership_already_confirmed` and
   * `team_limit_exceeded`.
   */
  confirm(unit: Unit, account: UserRecord, membership: Membership, change?: Change): Promise<Joined>;
  /** Transfers an invitation to another user. */
  passOn(unit: Unit, membership: Membership, to: UserRecord): Promise<Membership>;
  /** Changes a membership of the account. Throws Failure `team_limit_exceeded`. */
  change(unit: Unit, account: UserRecord, membership: Membership, change: Change): Promise<Membership>;
  remove(unit: Unit, membership: Membership): Promise<void>;
  /** Removes memberships and invitations of a project. */
  removeAll(unit: Unit, projectId: string, all: readonly Membership[]): Promise<void>;
  /** Deletes a team by calling `remove` and updates the rows of its former members. Returns their ids. */
  dissolve(unit: Unit, projectId: string, teamId: string, remove: () => Promise<unknown>): Promise<string[]>;
}

/** Creates the membership repository. */
export function createMembershipRepository(store: MembershipStore): MembershipRepository {
  return {
    find: (reader, projectId, id) => decoded(reader, store.find({ projectId, id })),
    isIdTaken: async (reader, id) => (await reader.one(store.ofAnyProject(id))) !== undefined,
    ofUser: (reader, projectId, teamId, userId) => decoded(reader, store.findOfUser(projectId, teamId, userId)),
    ofAddress: (reader, projectId, teamId, address) => decoded(reader, store.findOfAddress(projectId, teamId, address)),
    passOn: (unit, membership, { id: userId }) => changed(store, unit, membership, { userId }),
    ...bind(store, { isLastOwner, withoutOwner, add, confirm, change, remove, removeAll, dissolve }),
  };
}

async function decoded(reader: Reader, query: Query): Promise<Membership | undefined> {
  const row = await reader.one(query);
  return row && memberships.decode(row);
}

/** True for a confirmed member with the role `owner`. */
export function isOwner({ confirm, roles }: Membership): boolean {
  return confirm && roles.includes(ownerRole);
}

async function isLastOwner(store: MembershipStore, unit: Unit, membership: Membership): Promise<boolean> {
  if (!isOwner(membership)) return false;
  const row = await unit.one(store.owners(membership.projectId, membership.teamId));
  return Number(row?.total ?? 0) <= 1;
}

async function withoutOwner(store: MembershipStore, reader: Reader, projectId: string, teamIds: readonly string[]) {
  if (teamIds.length === 0) return [];
  const owned = new Set((await reader.all(store.owned(projectId, teamIds))).map((row) => row.team_id));
  return teamIds.filter((id) => !owned.has(id));
}

async function add(store: MembershipStore, unit: Unit, account: UserRecord, membership: Membership) {
  if (membership.confirm) requireRoom(account, membership);
  await unit.run(store.insert(membership));
  if (membership.confirm) await copy(store, unit, membership.projectId, [membership.userId]);
  return membership;
}

/** Every request of a user loads all team roles of the user, so their total is limited. */
function requireRoom({ memberships }: UserRecord, { id, roles }: Pick<Membership, 'id' | 'roles'>): void {
  const others = memberships.filter((other) => other.id !== id);
  if (others.length >= teamLimits.perUser) throw new Failure('team_limit_exceeded');
  const roleCount = others.reduce((sum, other) => sum + other.roles.length, roles.length);
  if (roleCount <= teamLimits.rolesPerUser) return;
  throw new Failure('team_limit_exceeded', {
    message: `A user has at most ${teamLimits.rolesPerUser} roles in all teams together.`,
  });
}

async function copy(store: MembershipStore, unit: Unit, projectId: string, userIds: readonly string[]): Promise<void> {
  if (userIds.length > 0) await unit.run(store.copyToUsers(projectId, userIds));
}

async function confirm(
  store: MembershipStore,
  unit: Unit,
  account: UserRecord,
  membership: Membership,
  change: Change = {},
): Promise<Joined> {
  if (account.memberships.some(({ teamId }) => teamId === membership.teamId))
    throw new Failure('membership_already_confirmed');
  requireRoom(account, { ...membership, ...change });
  const ended = (await unit.all(store.findOthers(membership, account))).map((row) => memberships.decode(row));
  for (const other of ended) await unit.run(store.remove(other));
  const now = { userId: account.id, address: null, joined: unit.now, confirm: true };
  const confirmed = await changed(store, unit, membership, { ...change, ...now });
  await copy(store, unit, membership.projectId, [account.id]);
  return { membership: confirmed, ended };
}

async function changed(store: MembershipStore, unit: Unit, membership: Membership, change: Change) {
  const all = { ...change, updatedAt: unit.now };
  await unit.run(store.update(membership, all));
  return { ...membership, ...all };
}

async function change(store: MembershipStore, unit: Unit, account: UserRecord, membership: Membership, change: Change) {
  if (membership.confirm) requireRoom(account, { ...membership, ...change });
  const after = await changed(store, unit, membership, change);
  if (membership.confirm) await copy(store, unit, membership.projectId, [membership.userId]);
  return after;
}

async function remove(store: MembershipStore, unit: Unit, membership: Membership): Promise<void> {
  await unit.run(store.remove(membership));
  if (membership.confirm) await copy(store, unit, membership.projectId, [membership.userId]);
}

async function removeAll(store: MembershipStore, unit: Unit, projectId: string, all: readonly Membership[]) {
  const ids = all.map(({ id }) => id);
  await unit.run(store.removeAll(projectId, ids));
  const joined = all.filter(({ confirm }) => confirm).map(({ userId }) => userId);
  await copy(store, unit, projectId, [...new Set(joined)]);
}

async function dissolve(
  store: MembershipStore,
  unit: Unit,
  projectId: string,
  teamId: string,
  remove: () => Promise<unknown>,
): Promise<string[]> {
  const locked = await unit.all(store.lockMembers(projectId, teamId));
  await remove();
  const members = locked.map(({ id }) => String(id));
  await copy(store, unit, projectId, members);
  return members;
}

/** Builds a confirmed membership without storing it. */
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

/** Records and announces the end of a membership or an invitation. */
export function recordEnded(unit: Unit, named: NamedMembership): void {
  unit.record('membershipDeleted', membershipRecord(named.membership));
  announceMembership(unit, 'membershipDeleted', named);
}

/** Records and announces a new member, invited or not, and the invitations that ended with it. */
export function recordJoined(
  unit: Unit,
  { membership, ended }: Joined,
  of: Omit<NamedMembership, 'membership'>,
  isInvited: boolean,
): void {
  unit.record('membershipConfirmed', membershipRecord(membership));
  announceMembership(unit, isInvited ? 'membershipUpdated' : 'membershipCreated', { ...of, membership });
  for (const other of ended) recordEnded(unit, { ...of, membership: other });
}

/** The common part of the audit records about a membership. */
export function membershipRecord({ id, teamId, userId, roles }: Membership) {
  return {
    resource: `teams/${teamId}/memberships/${id}`,
    userId,
    payload: { teamId, userId, roles: [...roles] },
  };
}
