import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest } from '#src/platform/digest.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Courier } from '../../courier/index.js';
import type { Limits } from '../../limits/index.js';
import { linkTo } from '../../one-time-secrets/index.js';
import type { Caller, Teams } from '../service.js';
import type { Team } from '../store.js';
import { newMembership, type Roster, recorded } from './roster.js';
import type { Membership } from './store.js';
import type { NamedMembership } from './view.js';

/** Whom to invite: by one identifier, or by several that are the same person's. */
interface Invitation {
  readonly userId: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
  /** How somebody is called who has no account yet. */
  readonly name: string;
  readonly roles: readonly string[];
}

interface Doors {
  readonly accounts: Accounts;
  readonly courier: Courier;
  readonly limits: Limits;
  readonly teams: Teams;
  readonly roster: Roster;
}

/** The way into a team: owners invite by mail, server keys and operators add at once. */
export function createInvitations({ random }: Pick<Platform, 'random'>, doors: Doors) {
  const { accounts, courier, limits, teams, roster } = doors;

  /** The user whom every given identifier fits; undefined where there is none. */
  const find = async (unit: Unit, project: Project, wanted: Invitation): Promise<Account | undefined> => {
    const { userId, email, phone } = wanted;
    const byId = userId === undefined ? undefined : await accounts.get(unit, project.id, userId);
    const byEmail = email === undefined ? undefined : await accounts.findByEmail(unit, project.id, email);
    const byPhone = phone === undefined ? undefined : await accounts.findByPhone(unit, project.id, phone);
    const found = byId ?? byEmail ?? byPhone;
    if (found === undefined) return undefined;
    const differs = (email !== undefined && found.email !== email) || (phone !== undefined && found.phone !== phone);
    if (differs) throw new Failure('user_already_exists', { message: 'The identifiers are not those of one user.' });
    return found;
  };
  /** The same, held until the unit ends. */
  const hold = async (unit: Unit, project: Project, wanted: Invitation): Promise<Account | undefined> => {
    const found = await find(unit, project, wanted);
    return found && accounts.hold(unit, project.id, found.id);
  };
  const create = async (unit: Unit, project: Project, wanted: Invitation, locale: string | null): Promise<Account> => {
    const { userId, email = null, phone = null, name } = wanted;
    // Deleted between two statements.
    if (userId !== undefined) throw new Failure('user_not_found');
    const given = { id: uniqueId, email, phone, name, passwordHash: null, locale };
    try {
      return await accounts.create(unit, project.id, given);
    } catch (error) {
      // Somebody signed up or was invited elsewhere at the same moment.
      const other =
        error instanceof Failure && error.type === 'user_already_exists'
          ? await hold(unit, project, wanted)
          : undefined;
      if (other === undefined) throw error;
      return other;
    }
  };
  const placeOf = async (unit: Unit, project: Project, team: Team, account: Account | undefined) => {
    const place = account && (await roster.ofUser(unit, project.id, team.id, account.id));
    if (place?.confirm) throw new Failure('membership_already_confirmed');
    return place;
  };
  const fresh = (unit: Unit, project: Project, team: Team, account: Account, roles: readonly string[]): Membership =>
    newMembership(unit, {
      ...{ id: random.id(), projectId: project.id, teamId: team.id, userId: account.id },
      roles: [...new Set(roles)],
    });

  /** Offers a place, or offers it anew with another secret, and tells the invited by mail. */
  const offer = async (
    unit: Unit,
    project: Project,
    to: {
      readonly team: Team;
      readonly account: Account;
      readonly recipient: string;
      readonly place: Membership | undefined;
    },
    wanted: Invitation,
  ): Promise<{ membership: Membership; secret: string }> => {
    const { team, account, recipient, place } = to;
    const secret = random.secret();
    const { name, email = '', phone = '' } = wanted;
    const offered: Membership = {
      ...fresh(unit, project, team, account, wanted.roles),
      ...{ invitedAs: { name, email, phone }, recipient, secretDigest: digest(secret), joined: null, confirm: false },
    };
    const { roles, invitedAs, secretDigest, invited } = offered;
    const membership =
      place === undefined
        ? await roster.add(unit, account, offered)
        : await roster.change(unit, place, { roles, invitedAs, recipient, secretDigest, invited });
    const { resource, userId, payload } = recorded(membership);
    unit.record('membershipInvited', { resource, userId, payload: { ...payload, email: recipient } });
    return { membership, secret };
  };
  const linkOf = (url: URL, project: Project, team: Team, { id, userId }: Membership, secret: string): string =>
    linkTo(url, { membershipId: id, userId, secret, teamId: team.id, teamName: team.name, project: project.id });

  return {
    /** Puts somebody into a team at once; who is unknown gets an account. */
    add: async (unit: Unit, project: Project, teamId: string, wanted: Invitation): Promise<NamedMembership> => {
      const team = await teams.hold(unit, project, teamId);
      const account = (await hold(unit, project, wanted)) ?? (await create(unit, project, wanted, null));
      const place = await placeOf(unit, project, team, account);
      const roles = [...new Set(wanted.roles)];
      const membership =
        place === undefined
          ? await roster.add(unit, account, fresh(unit, project, team, account, roles))
          : await roster.confirm(unit, account, place, { roles, secretDigest: null });
      unit.record('membershipConfirmed', recorded(membership));
      return { membership, account, teamName: team.name };
    },
    /**
     * Invites somebody by mail; who is unknown gets an account without a password. Returns a Failure 429 that the unit must return in turn.
     */
    invite: async (
      unit: Unit,
      project: Project,
      by: { readonly actor: Caller & { kind: 'user' }; readonly request: RequestFacts; readonly url: URL },
      teamId: string,
      wanted: Invitation,
    ): Promise<NamedMembership | Failure> => {
      const team = await teams.holdAsOwner(unit, project, by.actor, teamId);
      const known = await hold(unit, project, wanted);
      const place = await placeOf(unit, project, team, known);
      const recipient = known === undefined ? wanted.email : known.email;
      // A number alone reaches nobody; an account with a number that nobody proved would take it away from whom it belongs to.
      if (!recipient || (known === undefined && wanted.phone !== undefined)) throw new Failure(...unreachable);
      const refused = await limits.demandSend(unit, 'mail', recipient);
      if (refused !== undefined) return refused;
      const account = known ?? (await create(unit, project, wanted, by.request.locale));
      const { membership, secret } = await offer(unit, project, { team, account, recipient, place }, wanted);
      const inviter = by.actor.account.name || (by.actor.account.email ?? team.name);
      courier.send(unit, project, {
        ...{ message: 'invitation', to: recipient, userId: account.id, name: account.name },
        locale: account.locale ?? by.request.locale,
        variables: { team: team.name, inviter, link: linkOf(by.url, project, team, membership, secret) },
      });
      return { membership, account, teamName: team.name };
    },
  };
}

const unreachable = [
  'general_argument_invalid',
  { message: 'Nobody can be invited this way: give an e-mail address, and a phone number only of a user who has one.' },
] as const;
