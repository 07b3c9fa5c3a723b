import { Failure } from '#src/contract/errors.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { type Courier, invitedKey, type Limits } from '../../../installation/index.js';
import { linkTo } from '../../one-time-secrets/index.js';
import type { TakenIds } from '../../taken-ids/index.js';
import type { Users } from '../../users/index.js';
import type { Caller, Teams } from '../service.js';
import type { Team } from '../store.js';
import { announceMembership } from './announce.js';
import { createInvitedUsers, type Invitation, unreachable } from './invited-users.js';
import { type MembershipRepository, newMembership, recorded, recordJoined } from './repository.js';
import type { Membership } from './store.js';
import type { NamedMembership } from './view.js';

interface Deps {
  readonly users: Users;
  readonly courier: Courier;
  readonly limits: Limits;
  readonly teams: Teams;
  readonly membershipRepository: MembershipRepository;
  readonly takenIds: TakenIds;
}

/** The ways into a team: owners invite by mail, server keys and operators add at once. */
export interface Invitations {
  /** Adds somebody to a team at once; somebody unknown gets an account. */
  add(unit: Unit, project: Project, teamId: string, invitation: Invitation): Promise<NamedMembership>;
  /**
   * Invites somebody by mail; somebody unknown gets an account without a password, and the answer does not tell. Refuses with 429.
   */
  invite(
    unit: Unit,
    project: Project,
    by: { readonly actor: Caller & { kind: 'user' }; readonly request: RequestFacts; readonly url: URL },
    teamId: string,
    invitation: Invitation,
  ): Promise<NamedMembership>;
}

/** Creates the service of invitations. */
export function createInvitations({ random }: Pick<Runtime, 'random'>, deps: Deps): Invitations {
  const { courier, limits, teams, membershipRepository, takenIds } = deps;
  const { findLocked, findInvited, create } = createInvitedUsers(deps);

  const openInvitation = async (unit: Unit, project: Project, team: Team, account: UserRecord | undefined) => {
    const place = account && (await membershipRepository.ofUser(unit, project.id, team.id, account.id));
    if (place?.confirm) throw new Failure('membership_already_confirmed');
    return place;
  };
  const placeOfAddress = async (unit: Unit, project: Project, team: Team, address: string | null) =>
    address === null ? undefined : membershipRepository.ofAddress(unit, project.id, team.id, address);
  const newPlace = (
    unit: Unit,
    project: Project,
    team: Team,
    account: UserRecord,
    roles: readonly string[],
  ): Membership =>
    newMembership(unit, {
      id: random.id(),
      projectId: project.id,
      teamId: team.id,
      userId: account.id,
      roles: [...new Set(roles)],
    });

  /** Offers a place, or offers it anew with another secret, and tells the invited by mail. */
  const offer = async (
    unit: Unit,
    project: Project,
    to: {
      readonly team: Team;
      readonly account: UserRecord;
      readonly recipient: string;
      readonly place: Membership | undefined;
    },
    invitation: Invitation,
  ): Promise<{ membership: Membership; secret: string }> => {
    const { team, account, recipient, place } = to;
    const secret = random.secret();
    const { name, email = '', phone = '' } = invitation;
    const offered: Membership = {
      ...newPlace(unit, project, team, account, invitation.roles),
      invitedAs: { name, email, phone },
      alias: random.id(),
      address: invitation.userId === undefined ? recipient : null,
      recipient,
      secretDigest: digest(secret),
      joined: null,
      confirm: false,
    };
    // Nobody else may get the id that the team sees: it could grant it rights.
    if (place === undefined && offered.alias !== null)
      await takenIds.keep(unit, { projectId: project.id, kind: 'user', id: offered.alias });
    const { userId: current, roles, invitedAs, secretDigest, invited } = offered;
    const membership =
      place === undefined
        ? await membershipRepository.add(unit, account, offered)
        : await membershipRepository.change(unit, account, place, {
            // The address may be another account's by now.
            userId: current,
            roles,
            invitedAs,
            recipient,
            secretDigest,
            invited,
          });
    const { resource, userId, payload } = recorded(membership);
    unit.record('membershipInvited', { resource, userId, payload: { ...payload, email: recipient } });
    const named = { membership, account, teamName: team.name };
    announceMembership(unit, place === undefined ? 'membershipCreated' : 'membershipUpdated', named);
    return { membership, secret };
  };
  const linkOf = (url: URL, project: Project, team: Team, { id, userId, alias }: Membership, secret: string): string =>
    linkTo(url, {
      membershipId: id,
      userId: alias ?? userId,
      secret,
      teamId: team.id,
      teamName: team.name,
      project: project.id,
    });

  return {
    add: async (unit, project, teamId, invitation) => {
      const team = await teams.lockById(unit, project, teamId);
      const account = (await findLocked(unit, project, invitation)) ?? (await create(unit, project, invitation, null));
      const place =
        (await openInvitation(unit, project, team, account)) ??
        (await placeOfAddress(unit, project, team, account.email));
      const added = newPlace(unit, project, team, account, invitation.roles);
      const { roles } = added;
      const joined =
        place === undefined
          ? { membership: await membershipRepository.add(unit, account, added), ended: [] }
          : await membershipRepository.confirm(unit, account, place, { roles, secretDigest: null });
      const of = { account, teamName: team.name };
      recordJoined(unit, joined, of, place !== undefined);
      return { ...of, membership: joined.membership };
    },
    invite: async (unit, project, by, teamId, invitation) => {
      const team = await teams.lockAsOwner(unit, project, by.actor, teamId);
      const existing = await findInvited(unit, project, invitation);
      const ofUser = await openInvitation(unit, project, team, existing);
      const recipient = existing === undefined ? invitation.email : existing.email;
      if (!recipient) throw new Failure(...unreachable);
      // A count by address that an invitation by id had moved would tell whose address it is.
      const countedFor = invitation.userId === undefined ? recipient : invitedKey(invitation.userId);
      await limits.demandSend(unit, 'mail', countedFor);
      // The place that the user's id leads to would tell whose the address is.
      const place = invitation.userId === undefined ? await placeOfAddress(unit, project, team, recipient) : ofUser;
      const newcomer = { userId: undefined, email: recipient, phone: undefined, name: invitation.name };
      const account = existing ?? (await create(unit, project, newcomer, by.request.locale));
      const { membership, secret } = await offer(unit, project, { team, account, recipient, place }, invitation);
      const inviter = by.actor.account.name || (by.actor.account.email ?? team.name);
      courier.send(unit, project, {
        message: 'invitation',
        to: recipient,
        userId: account.id,
        name: account.name,
        locale: account.locale ?? by.request.locale,
        variables: { team: team.name, inviter, link: linkOf(by.url, project, team, membership, secret) },
      });
      return { membership, account, teamName: team.name };
    },
  };
}
