import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import { teamLimits } from '#src/contract/limits.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { type Membership, type MembershipStore, memberships, ownerRole } from './store.js';

/**
 * Who is in which team. What is confirmed stands in two places, with the team and with the user, and both change in one unit; whoever changes
 * it holds the team first and then the user, so that neither place can fall behind.
 */
export function createRoster(store: MembershipStore) {
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
  const demandRoom = (account: Account): void => {
    if (account.memberships.length >= teamLimits.perUser) throw new Failure('team_limit_exceeded');
  };

  return {
    find: (reader: Reader, projectId: string, id: string) => decoded(reader, store.find({ projectId, id })),
    ofUser: (reader: Reader, projectId: string, teamId: string, userId: string) =>
      decoded(reader, store.findOfUser(projectId, teamId, userId)),
    isOwner,
    /** Whether the team would be without an owner if this member were none. */
    isLastOwner: async (unit: Unit, membership: Membership): Promise<boolean> => {
      if (!isOwner(membership)) return false;
      const row = await unit.one(store.owners(membership.projectId, membership.teamId));
      return Number(row?.total ?? 0) <= 1;
    },
    /** Puts a user into a team or among the invited. Throws Failure `team_limit_exceeded`. */
    add: async (unit: Unit, account: Account, membership: Membership): Promise<Membership> => {
      if (membership.confirm) demandRoom(account);
      await unit.run(store.insert(membership));
      if (membership.confirm) await copy(unit, membership.projectId, [membership.userId]);
      return membership;
    },
    /** Makes somebody who is invited a member. Throws Failure `team_limit_exceeded`. */
    confirm: async (
      unit: Unit,
      account: Account,
      membership: Membership,
      change: Partial<Membership> = {},
    ): Promise<Membership> => {
      demandRoom(account);
      const confirmed = await changed(unit, membership, { ...change, joined: unit.now, confirm: true });
      await copy(unit, membership.projectId, [membership.userId]);
      return confirmed;
    },
    change: async (unit: Unit, membership: Membership, change: Partial<Membership>): Promise<Membership> => {
      const after = await changed(unit, membership, change);
      if (membership.confirm) await copy(unit, membership.projectId, [membership.userId]);
      return after;
    },
    remove: async (unit: Unit, membership: Membership): Promise<void> => {
      await unit.run(store.remove(membership));
      if (membership.confirm) await copy(unit, membership.projectId, [membership.userId]);
    },
    /** Runs what deletes a team, together with every place in it. */
    dissolve: async (unit: Unit, projectId: string, teamId: string, remove: () => Promise<unknown>): Promise<void> => {
      const held = await unit.all(store.holdMembers(projectId, teamId));
      await remove();
      await copy(
        unit,
        projectId,
        held.map(({ id }) => String(id)),
      );
    },
  };
}

/** The roster of all teams. */
export type Roster = ReturnType<typeof createRoster>;

/** A place in a team that is taken at once. */
export function newMembership(
  unit: Unit,
  given: Pick<Membership, 'id' | 'projectId' | 'teamId' | 'userId' | 'roles'>,
): Membership {
  const { now } = unit;
  return {
    ...{ ...given, invitedAs: { name: '', email: '', phone: '' }, recipient: null, secretDigest: null },
    ...{ invited: now, joined: now, confirm: true, createdAt: now, updatedAt: now },
  };
}

/** What is recorded with a change of a membership. */
export function recorded({ id, teamId, userId, roles }: Membership) {
  return {
    resource: `teams/${teamId}/memberships/${id}`,
    userId,
    payload: { teamId, userId, roles: [...roles] },
  };
}
