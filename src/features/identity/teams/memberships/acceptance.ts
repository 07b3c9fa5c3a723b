import type { Actor } from '#src/contract/actor.js';
import { type ErrorType, Failure, type FailureOptions } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import { demandLogin, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { isRecent, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Claims } from '../../claims/index.js';
import type { OpenedSession, Sessions } from '../../sessions/index.js';
import type { Users } from '../../users/index.js';
import type { Teams } from '../service.js';
import { type MembershipRepository, recordJoined } from './repository.js';
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

interface Deps {
  readonly users: Users;
  readonly claims: Claims;
  readonly sessions: Sessions;
  readonly teams: Teams;
  readonly membershipRepository: MembershipRepository;
}

/** Accepting invitations. */
export interface Acceptances {
  /** Makes the holder of the secret a member, and logs in where nobody is logged in. Refuses wrong secrets and blocked users. */
  accept(
    unit: Unit,
    project: Project,
    input: Acceptance,
  ): Promise<NamedMembership & { opened: OpenedSession | undefined }>;
}

/** Creates the service that accepts invitations. */
export function createAcceptances({ users, claims, sessions, teams, membershipRepository }: Deps): Acceptances {
  const fits = ({ secretDigest }: Membership, secret: string): boolean =>
    secretDigest !== null && equalDigests(digest(secret), secretDigest);
  /** A link that logs in does so for a while only, and not past a change of address or password. */
  const mayLogIn = (unit: Unit, account: UserRecord, { invited, recipient }: Membership): boolean =>
    account.email === recipient &&
    (account.passwordUpdate === null || account.passwordUpdate <= invited) &&
    isRecent(invited, millisecondsOf(unit.now), secretLife.invitationLogin * 1000);

  const logIn = async (
    unit: Unit,
    project: Project,
    account: UserRecord,
    { request, otp }: Acceptance,
  ): Promise<OpenedSession> => {
    const { email } = account;
    const login = { provider: 'email', providerUid: email ?? '', factors: ['email'], request, otp };
    return sessions.open(unit, project, account, login);
  };
  /** Whether the account has the address to which the invitation went, which accepting it proves. Somebody logged in may have accepted what went to an address from before. */
  const proves = ({ recipient }: Membership, { email }: UserRecord): boolean =>
    recipient !== null && email === recipient;
  /** Whose the address is to which the invitation went: the account's, or that of a new account. */
  const claim = async (
    unit: Unit,
    project: Project,
    { account, membership, actor }: { account: UserRecord; membership: Membership; actor: Actor },
  ): Promise<UserRecord> => {
    const { recipient: value, invitedAs } = membership;
    if (value === null || !proves(membership, account)) return account;
    const newcomer = { id: uniqueId, name: invitedAs.name, locale: account.locale };
    const claimed = await claims.settle(unit, project, { contact: 'email', value, actor, account, newcomer });
    if (claimed === undefined) throw new TypeError('a claim that may make an account returns one');
    return claimed;
  };
  /** The invitation; its team is locked. Throws Failure for one that is not there; whether its team is there is told to nobody. */
  const find = async (unit: Unit, project: Project, { teamId, id }: Acceptance) => {
    const team = await teams.lockById(unit, project, teamId).catch((error: unknown) => {
      throw error instanceof Failure && error.type === 'team_not_found' ? new Failure('membership_not_found') : error;
    });
    const membership = await membershipRepository.find(unit, project.id, id);
    if (membership === undefined) throw new Failure('membership_not_found');
    if (membership.teamId !== teamId) throw new Failure('team_membership_mismatch');
    return { team, membership };
  };

  return {
    accept: async (unit, project, input) => {
      const { actor, request } = input;
      const { team, membership } = await find(unit, project, input);
      const { userId } = membership;
      const refuse = (reason: string, ...failure: [ErrorType, FailureOptions?]): never => {
        const payload = { method: 'invitation', email: membership.recipient ?? '', ip: request.ip, reason };
        unit.record('loginFailed', { resource: `users/${userId}`, userId, payload });
        throw unit.refuse(...failure);
      };
      if (!fits(membership, input.secret)) throw refuse('wrong secret', 'team_invalid_secret');
      const isUser = actor.kind === 'user';
      const isNamed = input.userId === userId || input.userId === membership.alias;
      if (!isNamed || (isUser && actor.id !== userId)) throw new Failure('team_invite_mismatch');
      if (membership.confirm) throw new Failure('membership_already_confirmed');
      const account = await users.lockById(unit, project.id, userId);
      if (account === undefined) throw new Failure('user_not_found');
      if (!account.status) throw refuse('blocked', 'user_blocked');
      if (!isUser) demandLogin({ project, actor }, 'login.invitation');
      if (!isUser && !mayLogIn(unit, account, membership)) throw refuse('too old to log in', ...tooOld);

      const claimant = await claim(unit, project, { account, membership, actor });
      const place = claimant.id === userId ? membership : await membershipRepository.passOn(unit, membership, claimant);
      const opened = isUser ? undefined : await logIn(unit, project, claimant, input);
      // Only now: a login that lacks its second factor changes nothing.
      const proved = proves(membership, claimant)
        ? await users.markVerified(unit, project.id, claimant, 'email')
        : claimant;
      const joined = await membershipRepository.confirm(unit, proved, place);
      const of = { account: proved, teamName: team.name };
      recordJoined(unit, joined, of, true);
      return { ...of, membership: joined.membership, opened };
    },
  };
}

const tooOld = [
  'team_invalid_secret',
  { message: 'This invitation logs nobody in any more. Log in and follow it again, or ask for another one.' },
] as const;
