import { Failure, invalidParam } from '#src/contract/errors.js';
import { pendingSeconds, secretLife } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { LoginSwitch, Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Installation } from '../../installation/index.js';
import { channelOf, type Factors, type SecondFactor } from '../factors/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { OpenedSession, Sessions } from '../sessions/index.js';
import { accountRecord } from '../users/index.js';
import { type ChallengeRow, type ChallengeStore, challenges } from './store.js';

/** The user and session of a challenge. */
interface Challenged {
  readonly project: Project;
  readonly account: UserRecord;
  readonly session: Session;
  readonly request: RequestFacts;
}

/** Features that challenges depend on. */
export interface ChallengeDeps extends Pick<Runtime, 'random' | 'config'>, Pick<Installation, 'courier' | 'limits'> {
  readonly store: ChallengeStore;
  readonly factors: Factors;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  /** Returns the setting that switches off the login method of a session. */
  readonly loginSwitchOf: (session: Session) => LoginSwitch;
}

type SentFactor = 'email' | 'phone';

const isSent = (factor: SecondFactor): factor is SentFactor => factor === 'email' || factor === 'phone';
const purposes = { email: 'email-challenge', phone: 'phone-challenge' } as const;

/**
 * Begins a challenge, which completes a pending login with its second factor, or re-authenticates the holder of a session. Refuses with
 * 429 over quota.
 */
export async function beginChallenge(
  deps: ChallengeDeps,
  unit: Unit,
  challenged: Challenged,
  factor: SecondFactor,
): Promise<ChallengeRow> {
  requireLoginOf(deps, challenged);
  await requireUsable(deps, unit, challenged, factor);
  const { project, account, session } = challenged;
  const row = { id: deps.random.id(), projectId: project.id, userId: account.id, sessionId: session.id, factor };
  if (isSent(factor)) await sendCode(deps, unit, challenged, factor, row.id);
  const expire = instantOf(millisecondsOf(unit.now) + pendingSeconds.challenge * 1000);
  const begun = { ...row, expire, createdAt: unit.now };
  await unit.run(deps.store.put(begun));
  return begun;
}

/** Throws Failure `user_auth_method_unsupported` for a pending login if the project has switched off its login method since. */
function requireLoginOf({ loginSwitchOf }: ChallengeDeps, { project, session }: Challenged): void {
  if (session.pending && !project.settings[loginSwitchOf(session)]) throw new Failure('user_auth_method_unsupported');
}

async function requireUsable({ factors }: ChallengeDeps, unit: Unit, challenged: Challenged, factor: SecondFactor) {
  const { project, account, session } = challenged;
  if (session.pending && factor === channelOf(session.factors))
    throw invalidParam('factor', `the login itself came by ${factor}; the second factor has to be another one.`);
  if (isSent(factor) || (await factors.usable(unit, project, account))[factor]) return;
  throw new Failure(factor === 'totp' ? 'user_authenticator_not_found' : 'user_recovery_codes_not_found');
}

/** Sends a code for the challenge. Refuses with 429 over quota. */
async function sendCode(
  deps: ChallengeDeps,
  unit: Unit,
  challenged: Challenged,
  factor: SentFactor,
  challengeId: string,
) {
  const { limits, secrets, courier } = deps;
  const { project, account, request } = challenged;
  const recipient = recipientOf(deps, account, factor);
  await limits.consume(unit, 'send', { address: request.ip });
  await limits.requireChallenge(unit, factor === 'email' ? 'mail' : 'sms', account.id);
  const { secret: code } = await secrets.issue(unit, project, {
    purpose: purposes[factor],
    subject: account.id,
    userId: account.id,
    alias: challengeId,
    recipient,
    form: 'code',
    lifeSeconds: secretLife.code,
  });
  const locale = request.locale ?? account.locale;
  const addressee = { to: recipient, userId: account.id, name: account.name, locale, variables: { code } };
  courier.send(unit, project, { message: purposes[factor], ...addressee });
}

/** The address or number to send a code to. Throws Failure if the user has no verified one. */
function recipientOf({ config }: ChallengeDeps, account: UserRecord, factor: SentFactor): string {
  if (factor === 'email') {
    if (account.email === null) throw new Failure('user_email_not_found');
    if (!account.emailVerification) throw new Failure('user_email_not_verified');
    return account.email;
  }
  if (account.phone === null) throw new Failure('user_phone_not_found');
  if (!account.phoneVerification) throw new Failure('user_phone_not_verified');
  if (config.smsUrl === undefined) throw new Failure('general_phone_disabled');
  return account.phone;
}

/** Answers a challenge. Refuses with `user_invalid_token` if anything is wrong, and with 429 over the limit. */
export async function answerChallenge(
  deps: ChallengeDeps,
  unit: Unit,
  challenged: Challenged,
  challengeId: string,
  otp: string,
): Promise<OpenedSession> {
  const { factors, sessions, store } = deps;
  requireLoginOf(deps, challenged);
  const { project, account, session, request } = challenged;
  const found = await unit.one(store.find(session.id, challengeId, unit.now));
  if (found === undefined) throw new Failure('user_invalid_token');
  const challenge = challenges.decode(found) as ChallengeRow;
  const { factor } = challenge;
  if (!(await prove(deps, unit, challenged, challenge, otp))) {
    unit.record('challengeFailed', accountRecord(account.id, { factor, ip: request.ip }));
    throw unit.refuse('user_invalid_token');
  }
  await unit.run(store.remove(challengeId));
  if (session.pending) return sessions.complete(unit, project, account, session, factor, request);
  const addedAt = await factors.addedAt(unit, project, account, factor);
  // The holder of an old session may be a stranger, and may add the first factor. Then that factor proves nothing.
  const isProof = addedAt === undefined || sessions.wasFresh(session, addedAt);
  return sessions.renew(unit, project, session, isProof ? factor : undefined);
}

/** True if the code answers the challenge. Refuses with 429 over the limit. */
async function prove(
  deps: ChallengeDeps,
  unit: Unit,
  challenged: Challenged,
  { id, factor }: ChallengeRow,
  otp: string,
) {
  const { factors, secrets } = deps;
  const { project, account } = challenged;
  if (!isSent(factor)) return (await factors.prove(unit, project, account, otp, [factor])) !== undefined;
  const redeemed = await secrets.redeem(unit, project, { purposes: [purposes[factor]], userId: id, secret: otp });
  // A code sent to a former address proves nothing.
  return redeemed?.userId === account.id && redeemed.recipient === account[factor];
}
