import { Failure } from '#src/contract/errors.js';
import { pendingSeconds, secretLife } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { LoginSwitch, Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Courier, Limits } from '../../installation/index.js';
import { channelOf, type Factors, type SecondFactor } from '../factors/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { OpenedSession, Sessions } from '../sessions/index.js';
import { type ChallengeRow, challenges, createChallengeStore } from './store.js';

/** Who is challenged. */
interface Challenged {
  readonly project: Project;
  readonly account: UserRecord;
  readonly session: Session;
  readonly request: RequestFacts;
}

interface Deps {
  readonly factors: Factors;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
  /** The setting that switches the way to log in by which a session came. */
  readonly loginSwitchOf: (session: Session) => LoginSwitch;
}

type SentFactor = 'email' | 'phone';

const isSent = (factor: SecondFactor): factor is SentFactor => factor === 'email' || factor === 'phone';
const purposes = { email: 'email-challenge', phone: 'phone-challenge' } as const;

/** Challenges: a login gives the second factor it lacks, or somebody proves once more who holds a session. */
export function createChallenges({ sql, random, config }: Pick<Runtime, 'sql' | 'random' | 'config'>, deps: Deps) {
  const { factors, sessions, secrets, courier, limits, loginSwitchOf } = deps;
  const store = createChallengeStore(sql);
  /** Throws Failure `user_auth_method_unsupported` where a login is under way whose way the project has switched off meanwhile. */
  const demandLoginOf = ({ project, session }: Challenged): void => {
    if (session.pending && !project.settings[loginSwitchOf(session)]) throw new Failure('user_auth_method_unsupported');
  };

  /** The address or number that a code goes to. Throws Failure where there is none that is verified. */
  const recipientOf = (account: UserRecord, factor: SentFactor): string => {
    if (factor === 'email') {
      if (account.email === null) throw new Failure('user_email_not_found');
      if (!account.emailVerification) throw new Failure('user_email_not_verified');
      return account.email;
    }
    if (account.phone === null) throw new Failure('user_phone_not_found');
    if (!account.phoneVerification) throw new Failure('user_phone_not_verified');
    if (config.smsUrl === undefined) throw new Failure('general_phone_disabled');
    return account.phone;
  };
  const demandUsable = async (unit: Unit, { project, account, session }: Challenged, factor: SecondFactor) => {
    if (session.pending && factor === channelOf(session.factors)) {
      throw new Failure('general_argument_invalid', {
        message: `Invalid \`factor\` param: the login itself came by ${factor}; the second factor has to be another one.`,
      });
    }
    if (isSent(factor)) return;
    const usable = await factors.usable(unit, project, account);
    if (usable[factor]) return;
    throw new Failure(factor === 'totp' ? 'user_authenticator_not_found' : 'user_recovery_codes_not_found');
  };
  /** Sends a code that answers the challenge. Refuses with 429. */
  const sendCode = async (
    unit: Unit,
    { project, account, request }: Challenged,
    factor: SentFactor,
    challengeId: string,
  ): Promise<void> => {
    const recipient = recipientOf(account, factor);
    await limits.demand(unit, 'send', { address: request.ip });
    await limits.demandChallenge(unit, factor === 'email' ? 'mail' : 'sms', account.id);
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
  };
  /** Whether the code answers the challenge. Refuses with 429. */
  const prove = async (
    unit: Unit,
    { project, account }: Challenged,
    { id, factor }: ChallengeRow,
    otp: string,
  ): Promise<boolean> => {
    if (!isSent(factor)) return (await factors.prove(unit, project, account, otp, [factor])) !== undefined;
    const input = { purposes: [purposes[factor]], userId: id, secret: otp.replace(/\s/g, '') };
    const redeemed = await secrets.redeem(unit, project, input);
    // An address that was changed meanwhile proves nothing any more.
    return redeemed?.userId === account.id && redeemed.recipient === account[factor];
  };

  return {
    /** Begins a challenge. Refuses with 429. */
    begin: async (unit: Unit, challenged: Challenged, factor: SecondFactor): Promise<ChallengeRow> => {
      demandLoginOf(challenged);
      await demandUsable(unit, challenged, factor);
      const { project, account, session } = challenged;
      const row = { id: random.id(), projectId: project.id, userId: account.id, sessionId: session.id, factor };
      if (isSent(factor)) await sendCode(unit, challenged, factor, row.id);
      const expire = instantOf(millisecondsOf(unit.now) + pendingSeconds.challenge * 1000);
      const begun = { ...row, expire, createdAt: unit.now };
      await unit.run(store.put(begun));
      return begun;
    },
    /** Answers a challenge. Refuses with `user_invalid_token` where anything is wrong, and with 429. */
    answer: async (unit: Unit, challenged: Challenged, challengeId: string, otp: string): Promise<OpenedSession> => {
      demandLoginOf(challenged);
      const { project, account, session, request } = challenged;
      const found = await unit.one(store.find(session.id, challengeId, unit.now));
      if (found === undefined) throw new Failure('user_invalid_token');
      const challenge = challenges.decode(found) as ChallengeRow;
      const { factor } = challenge;
      if (!(await prove(unit, challenged, challenge, otp))) {
        const payload = { userId: account.id, factor, ip: request.ip };
        unit.record('challengeFailed', { resource: `users/${account.id}`, userId: account.id, payload });
        throw unit.refuse('user_invalid_token');
      }
      await unit.run(store.remove(challengeId));
      return session.pending
        ? sessions.complete(unit, project, account, session, factor, request)
        : sessions.renew(unit, project, session, factor);
    },
  };
}
