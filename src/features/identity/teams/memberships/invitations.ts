import { Failure } from '#src/contract/errors.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import { digest } from '#src/platform/crypto/digest.js';
import type { Unit } from '#src/platform/db/unit.js';
import { invitedKey } from '../../../installation/index.js';
import { linkTo } from '../../one-time-secrets/index.js';
import { announceMembership } from '../model/announce.js';
import type { Membership } from '../model/membership-store.js';
import type { NamedMembership } from '../model/membership-view.js';
import { membershipRecord, newMembership, recordJoined } from '../model/memberships.js';
import type { TeamCaller } from '../model/service.js';
import type { Team } from '../model/store.js';
import { createInvitee, type Invitation, lockInvitee, lockInviteeOfOwner, unreachable } from './invited-users.js';
import type { MembershipDeps } from './service.js';

/** The owner who invites, and the page that the link in the mail leads to. */
interface Invite {
  readonly actor: TeamCaller & { kind: 'user' };
  readonly request: RequestFacts;
  readonly url: URL;
}

type Deps = MembershipDeps;

/** Adds a user to a team directly, for server keys and operators. An unknown person gets an account. */
export async function addMember(deps: Deps, unit: Unit, project: Project, teamId: string, invitation: Invitation) {
  const { users, teams, membershipRepository } = deps;
  const team = await teams.lockById(unit, project, teamId);
  const account =
    (await lockInvitee(users, unit, project, invitation)) ??
    (await createInvitee(users, unit, project, invitation, null));
  const place =
    (await openInvitation(deps, unit, project, team, account)) ??
    (await placeOfAddress(deps, unit, project, team, account.email));
  const added = newPlace(deps, unit, project, team, account, invitation.roles);
  const { roles } = added;
  const joined =
    place === undefined
      ? { membership: await membershipRepository.add(unit, account, added), ended: [] }
      : await membershipRepository.confirm(unit, account, place, { roles, secretDigest: null });
  const of = { account, teamName: team.name };
  recordJoined(unit, joined, of, place !== undefined);
  return { ...of, membership: joined.membership };
}

/**
 * Invites a user by mail, for owners. An unknown person gets an account without a password; the response does not reveal which case it was.
 * Refuses with 429 over quota.
 */
export async function inviteMember(
  deps: Deps,
  unit: Unit,
  project: Project,
  by: Invite,
  teamId: string,
  invitation: Invitation,
): Promise<NamedMembership> {
  const { users, courier, limits, teams } = deps;
  const team = await teams.lockAsOwner(unit, project, by.actor, teamId);
  const existing = await lockInviteeOfOwner(users, unit, project, invitation);
  const ofUser = await openInvitation(deps, unit, project, team, existing);
  const recipient = existing === undefined ? invitation.email : existing.email;
  if (!recipient) throw new Failure(...unreachable);
  // Invitations by user id are counted by that id: a count by address would reveal which address belongs to the id.
  const countedFor = invitation.userId === undefined ? recipient : invitedKey(invitation.userId);
  await limits.requireSend(unit, 'mail', countedFor);
  // Invitations by address are looked up by address: a lookup by user id would reveal the address's owner.
  const place = invitation.userId === undefined ? await placeOfAddress(deps, unit, project, team, recipient) : ofUser;
  const newcomer = { userId: undefined, email: recipient, phone: undefined, name: invitation.name };
  const account = existing ?? (await createInvitee(users, unit, project, newcomer, by.request.locale));
  const { membership, secret } = await offer(deps, unit, project, { team, account, recipient, place }, invitation);
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
}

async function openInvitation(
  { membershipRepository }: Deps,
  unit: Unit,
  project: Project,
  team: Team,
  account: UserRecord | undefined,
) {
  const place = account && (await membershipRepository.ofUser(unit, project.id, team.id, account.id));
  if (place?.confirm) throw new Failure('membership_already_confirmed');
  return place;
}

async function placeOfAddress(
  { membershipRepository }: Deps,
  unit: Unit,
  project: Project,
  team: Team,
  address: string | null,
) {
  return address === null ? undefined : membershipRepository.ofAddress(unit, project.id, team.id, address);
}

function newPlace(
  { random }: Deps,
  unit: Unit,
  project: Project,
  team: Team,
  account: UserRecord,
  roles: readonly string[],
): Membership {
  return newMembership(unit, {
    id: random.id(),
    projectId: project.id,
    teamId: team.id,
    userId: account.id,
    roles: [...new Set(roles)],
  });
}

interface Offer {
  readonly team: Team;
  readonly account: UserRecord;
  readonly recipient: string;
  readonly place: Membership | undefined;
}

/** Creates an invitation, or renews an open one with a new secret. */
async function offer(
  deps: Deps,
  unit: Unit,
  project: Project,
  to: Offer,
  invitation: Invitation,
): Promise<{ membership: Membership; secret: string }> {
  const { random, takenIds, membershipRepository } = deps;
  const { team, account, recipient, place } = to;
  const secret = random.secret();
  const { name, email = '', phone = '' } = invitation;
  const offered: Membership = {
    ...newPlace(deps, unit, project, team, account, invitation.roles),
    invitedAs: { name, email, phone },
    alias: random.id(),
    address: invitation.userId === undefined ? recipient : null,
    recipient,
    secretDigest: digest(secret),
    joined: null,
    confirm: false,
  };
  // The team sees this id and could grant it permissions, so no other user may get it.
  if (place === undefined && offered.alias !== null)
    await takenIds.keep(unit, { projectId: project.id, kind: 'user', id: offered.alias });
  const { userId: current, roles, invitedAs, secretDigest, invited } = offered;
  const membership =
    place === undefined
      ? await membershipRepository.add(unit, account, offered)
      : await membershipRepository.change(unit, account, place, {
          // The address may belong to another account by now.
          userId: current,
          roles,
          invitedAs,
          recipient,
          secretDigest,
          invited,
        });
  const { resource, userId, payload } = membershipRecord(membership);
  unit.record('membershipInvited', { resource, userId, payload: { ...payload, email: recipient } });
  const named = { membership, account, teamName: team.name };
  announceMembership(unit, place === undefined ? 'membershipCreated' : 'membershipUpdated', named);
  return { membership, secret };
}

function linkOf(url: URL, project: Project, team: Team, { id, userId, alias }: Membership, secret: string): string {
  return linkTo(url, {
    membershipId: id,
    userId: alias ?? userId,
    secret,
    teamId: team.id,
    teamName: team.name,
    project: project.id,
  });
}
