import type { Actor } from '#src/contract/actor.js';
import { type ErrorType, Failure, type FailureOptions } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import { type RequestFacts, requireLogin } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { digest, equalDigests } from '#src/platform/crypto/digest.js';
import type { Unit } from '#src/platform/db/unit.js';
import { isRecent, millisecondsOf } from '#src/platform/runtime/clock.js';
import { refusalRecord } from '../../users/index.js';
import type { Membership } from '../model/membership-store.js';
import { recordJoined } from '../model/memberships.js';
import type { MembershipDeps } from './service.js';

/** A request to accept an invitation by its link. */
interface Acceptance {
  readonly actor: Actor;
  readonly request: RequestFacts;
  readonly teamId: string;
  readonly id: string;
  readonly userId: string;
  readonly secret: string;
  readonly otp: string | undefined;
}

type Deps = MembershipDeps;

/** Makes the holder of the secret a member, and opens a session if the caller is a guest. Rejects wrong secrets and blocked users. */
export async function acceptInvitation(deps: Deps, unit: Unit, project: Project, input: Acceptance) {
  const { users, sessions, membershipRepository } = deps;
  const { actor, request, otp } = input;
  const { team, membership } = await find(deps, unit, project, input);
  const { userId } = membership;
  const refuse = (reason: string, ...failure: [ErrorType, FailureOptions?]): never => {
    const payload = { method: 'invitation', email: membership.recipient ?? '', ip: request.ip, reason };
    unit.record('loginFailed', refusalRecord(userId, payload));
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
  if (!isUser) requireLogin({ project, actor }, 'login.invitation');
  if (!isUser && !mayLogIn(unit, account, membership)) throw refuse('too old to log in', ...tooOld);

  const claimant = await claim(deps, unit, project, { account, membership, actor });
  const place = claimant.id === userId ? membership : await membershipRepository.passOn(unit, membership, claimant);
  const login = { provider: 'email', providerUid: claimant.email ?? '', factors: ['email'], request, otp };
  const opened = isUser ? undefined : await sessions.open(unit, project, claimant, login);
  // Only now: a login without the required second factor must not change anything.
  const proved = proves(membership, claimant)
    ? await users.markVerified(unit, project.id, claimant, 'email')
    : claimant;
  const joined = await membershipRepository.confirm(unit, proved, place);
  const of = { account: proved, teamName: team.name };
  recordJoined(unit, joined, of, true);
  return { ...of, membership: joined.membership, opened };
}

/**
 * The invitation; its team is locked. An unknown team throws Failure `membership_not_found`, so that the response does not reveal whether
 * the team exists.
 */
async function find({ teams, membershipRepository }: Deps, unit: Unit, project: Project, { teamId, id }: Acceptance) {
  const team = await teams.lockById(unit, project, teamId).catch((error: unknown) => {
    throw error instanceof Failure && error.type === 'team_not_found' ? new Failure('membership_not_found') : error;
  });
  const membership = await membershipRepository.find(unit, project.id, id);
  if (membership === undefined) throw new Failure('membership_not_found');
  if (membership.teamId !== teamId) throw new Failure('team_membership_mismatch');
  return { team, membership };
}

function fits({ secretDigest }: Membership, secret: string): boolean {
  return secretDigest !== null && equalDigests(digest(secret), secretDigest);
}

/** An invitation can be used to log in for a limited time, and only until the address or the password changes. */
function mayLogIn(unit: Unit, account: UserRecord, { invited, recipient }: Membership): boolean {
  return (
    account.email === recipient &&
    (account.passwordUpdate === null || account.passwordUpdate <= invited) &&
    isRecent(invited, millisecondsOf(unit.now), secretLife.invitationLogin * 1000)
  );
}

const tooOld = [
  'team_invalid_secret',
  { message: 'This invitation logs nobody in any more. Log in and follow it again, or ask for another one.' },
] as const;

/** The account that owns the invited address: this one or a new one. */
async function claim(
  { claims }: Deps,
  unit: Unit,
  project: Project,
  { account, membership, actor }: { account: UserRecord; membership: Membership; actor: Actor },
): Promise<UserRecord> {
  const { recipient: value, invitedAs } = membership;
  if (value === null || !proves(membership, account)) return account;
  const newcomer = { id: uniqueId, name: invitedAs.name, locale: account.locale };
  return claims.resolveOwner(unit, project, { contact: 'email', value, actor, account, newcomer });
}

/**
 * True if the account has the address the invitation was sent to; accepting it then proves the address. A logged-in user may accept an
 * invitation that was sent to a former address.
 */
function proves({ recipient }: Membership, { email }: UserRecord): boolean {
  return recipient !== null && email === recipient;
}
