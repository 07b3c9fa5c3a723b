import type { ErrorType, FailureOptions } from '#src/contract/errors.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { refusalRecord } from '../users/index.js';
import type { CodeFactor, Proof } from './proof.js';

/** Second factors, named like the challenges that prove them. */
export const secondFactors = ['totp', 'email', 'phone', 'recoverycode'] as const;
/** A second factor. */
export type SecondFactor = (typeof secondFactors)[number];

/** Second factors that a user can use. */
export type UsableFactors = Readonly<Record<SecondFactor, boolean>>;

/** A login with its first factor. */
interface FirstFactor {
  readonly provider: string;
  readonly factors: readonly string[];
  readonly request: Pick<RequestFacts, 'ip'>;
  readonly multiFactor?: boolean;
  readonly otp?: string | undefined;
}

/** Factors of logins at an identity provider. A provider's statement about an address is not a code sent to that mailbox. */
const ofProviders = ['oauth2', 'saml'];

/** The second factor that uses the same channel as the login and therefore does not count: two codes to one mailbox are one factor. */
export function channelOf(factors: readonly string[]): SecondFactor | undefined {
  if (factors.some((factor) => ofProviders.includes(factor))) return undefined;
  if (factors.includes('phone')) return 'phone';
  return factors.includes('email') ? 'email' : undefined;
}

/** Second factors that make logins require one. Recovery codes only substitute for them. */
export function standingFactors(usable: UsableFactors): SecondFactor[] {
  return secondFactors.filter((factor) => usable[factor] && factor !== 'recoverycode');
}

const ownChannel = 'This login and the only second factor of the account are the same channel. Log in by the password.';

/**
 * Returns `enough` if the login needs no more, `lacking` if it needs a challenge, or the factor that its code has proved. Refuses wrong
 * codes, and logins that cannot be completed.
 */
export type LoginCheck = (
  unit: Unit,
  project: Project,
  account: UserRecord,
  login: FirstFactor,
) => Promise<'enough' | 'lacking' | CodeFactor>;

/** Decides whether a login needs a second factor and whether it has provided one. */
export function createLoginCheck(
  usable: (reader: Reader, project: Project, account: UserRecord) => Promise<UsableFactors>,
  proof: Proof,
): LoginCheck {
  const refuse = (
    unit: Unit,
    account: UserRecord,
    login: FirstFactor,
    reason: string,
    ...failure: [ErrorType, FailureOptions?]
  ): never => {
    const payload = { method: login.provider, email: account.email ?? '', ip: login.request.ip, reason };
    unit.record('loginFailed', refusalRecord(account.id, payload));
    throw unit.refuse(...failure);
  };
  return async (unit, project, account, login) => {
    // An application that opens a session with its server key vouches for the user itself.
    if (!account.mfa || login.provider === 'server' || login.multiFactor) return 'enough';
    const standing = standingFactors(await usable(unit, project, account));
    if (standing.length === 0) return 'enough';
    const channel = channelOf(login.factors);
    if (standing.every((factor) => factor === channel)) {
      if (account.passwordHash === null) return 'enough';
      const reason = 'no second factor besides the first';
      throw refuse(unit, account, login, reason, 'user_more_factors_required', { message: ownChannel });
    }
    if (login.otp === undefined || login.otp === '') return 'lacking';
    const proved = await proof.of(unit, project, account, login.otp, ['totp', 'recoverycode']);
    return proved ?? refuse(unit, account, login, 'wrong second factor', 'user_invalid_token');
  };
}
