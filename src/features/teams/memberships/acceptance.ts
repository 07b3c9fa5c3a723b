import type { Account } from '#src/contract/account.js';
import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Accounts } from '../../accounts/index.js';
import type { OpenedSession, Sessions } from '../../sessions/index.js';
import type { Teams } from '../service.js';
import { type Roster, recorded } from './roster.js';
import type { Membership } from './store.js';
import type { NamedMembership } from './view.js';

/** Somebody who follows the link of an invitation. */
interface Acceptance {
  readonly actor: Actor;
  readonly request: RequestFacts;
  readonly teamId: string;
  readonly id: string;
  readonly userId: string;
  readonly secret: string;
  readonly otp: string | undefined;
}

interface Doors {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly teams: Teams;
  readonly roster: Roster;
}

/** Accepting invitations: whoever holds the secret joins, and is logged in where nobody is. */
export function createAcceptance({ accounts, sessions, teams, roster }: Doors) {
  const fits = ({ secretDigest }: Membership, secret: string): boolean =>
    secretDigest !== null && equalDigests(digest(secret), secretDigest);
  /** A link that logs in does so for a while only, and not past a change of address or password. */
  const mayLogIn = (unit: Unit, account: Account, { invited, recipient }: Membership): boolean =>
    account.email === recipient &&
    (account.passwordUpdate === null || account.passwordUpdate <= invited) &&
    millisecondsOf(unit.now) - millisecondsOf(invited) < secretLife.invitationLogin * 1000;

  const logIn = async (
    unit: Unit,
    project: Project,
    account: Account,
    { request, otp }: Acceptance,
  ): Promise<OpenedSession | Failure> => {
    const { email } = account;
    const login = { provider: 'email', providerUid: email ?? '', factors: ['email'], request, otp };
    return sessions.open(unit, project, account, login);
  };
  /** Whoever signed up with an address that was never proved may be somebody else: their password and sessions end here. */
  const evict = async (unit: Unit, project: Project, account: Account): Promise<Account> => {
    await sessions.closeAll(unit, project, account.id);
    if (account.passwordHash === null) return account;
    unit.record('accountPasswordChanged', {
      ...{ resource: `users/${account.id}`, userId: account.id, payload: { userId: account.id } },
    });
    return accounts.update(unit, project.id, account, { passwordHash: null, passwordUpdate: unit.now });
  };
  const prove = async (unit: Unit, project: Project, account: Account, isUser: boolean): Promise<Account> => {
    if (account.emailVerification) return account;
    const own = isUser ? account : await evict(unit, project, account);
    return accounts.markVerified(unit, project.id, own, 'email');
  };
  /** The invitation, whose team is held. Throws Failure for one that is not there. */
  const find = async (unit: Unit, project: Project, { teamId, id }: Acceptance) => {
    const team = await teams.hold(unit, project, teamId);
    const membership = await roster.find(unit, project.id, id);
    if (membership === undefined) throw new Failure('membership_not_found');
    if (membership.teamId !== teamId) throw new Failure('team_membership_mismatch');
    return { team, membership };
  };

  return {
    /** Returns a Failure that the unit must return in turn. */
    accept: async (
      unit: Unit,
      project: Project,
      given: Acceptance,
    ): Promise<(NamedMembership & { opened: OpenedSession | undefined }) | Failure> => {
      const { actor, request } = given;
      const { team, membership } = await find(unit, project, given);
      const { userId } = membership;
      const refuse = (failure: Failure, reason: string): Failure => {
        const payload = { method: 'invitation', email: membership.recipient ?? '', ip: request.ip, reason };
        unit.record('loginFailed', { resource: `users/${userId}`, userId, payload });
        return failure;
      };
      if (!fits(membership, given.secret)) return refuse(new Failure('team_invalid_secret'), 'wrong secret');
      const isUser = actor.kind === 'user';
      if (given.userId !== userId || (isUser && actor.id !== userId)) throw new Failure('team_invite_mismatch');
      if (membership.confirm) throw new Failure('membership_already_confirmed');
      const account = await accounts.hold(unit, project.id, userId);
      if (account === undefined) throw new Failure('user_not_found');
      if (!account.status) return refuse(new Failure('user_blocked'), 'blocked');
      if (!isUser && !mayLogIn(unit, account, membership)) return refuse(new Failure(...tooOld), 'too old to log in');

      const isProof = account.email === membership.recipient;
      const proved = isProof ? await prove(unit, project, account, isUser) : account;
      const opened = isUser ? undefined : await logIn(unit, project, proved, given);
      if (opened instanceof Failure) return opened;
      const joined = await roster.confirm(unit, proved, membership);
      unit.record('membershipConfirmed', recorded(joined));
      return { membership: joined, account: proved, teamName: team.name, opened };
    },
  };
}

const tooOld = [
  'team_invalid_secret',
  { message: 'This invitation logs nobody in any more. Log in and follow it again, or ask for another one.' },
] as const;
