import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import { pendingSeconds, secretLife } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Courier } from '../courier/index.js';
import { channelOf, type Factors, type SecondFactor } from '../factors/index.js';
import type { Limits } from '../limits/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { OpenedSession, Sessions } from '../sessions/index.js';
import { type ChallengeRow, challenges, createChallengeStore } from './store.js';

/** Who is challenged. */
interface Challenged {
  readonly project: Project;
  readonly account: Account;
  readonly session: Session;
  readonly request: RequestFacts;
}

interface Doors {
  readonly factors: Factors;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
}

type SentFactor = 'email' | 'phone';

const isSent = (factor: SecondFactor): factor is SentFactor => factor === 'email' || factor === 'phone';
const purposes = { email: 'email-challenge', phone: 'phone-challenge' } as const;

/** Challenges: a login gives the second factor it lacks, or somebody proves once more who holds a session. */
export function createChallenges({ sql, random, config }: Pick<Platform, 'sql' | 'random' | 'config'>, doors: Doors) {
  const { factors, sessions, secrets, courier, limits } = doors;
  const store = createChallengeStore(sql);

  /** The address or number that a code goes to. Throws Failure where there is none that is verified. */
  const recipientOf = (account: Account, factor: SentFactor): string => {
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
  /** Sends a code that answers the challenge. Returns a Failure 429 that the unit must return in turn. */
  const sendCode = async (
    unit: Unit,
    { project, account, request }: Challenged,
    factor: SentFactor,
    challengeId: string,
  ): Promise<Failure | undefined> => {
    const recipient = recipientOf(account, factor);
    const exhausted =
      (await limits.demand(unit, 'send', { address: request.ip })) ??
      (await limits.demandSend(unit, factor === 'email' ? 'mail' : 'sms', recipient));
    if (exhausted !== undefined) return exhausted;
    const { secret: code } = await secrets.issue(unit, project, {
      ...{ purpose: purposes[factor], subject: account.id, userId: account.id, alias: challengeId, recipient },
      ...{ form: 'code', lifeSeconds: secretLife.code },
    });
    const locale = request.locale ?? account.locale;
    const letter = { to: recipient, userId: account.id, name: account.name, locale, variables: { code } };
    courier.send(unit, project, { message: purposes[factor], ...letter });
    return undefined;
  };
  /** Whether the code answers the challenge. A Failure must be returned by the unit in turn. */
  const prove = async (
    unit: Unit,
    { project, account }: Challenged,
    { id, factor }: ChallengeRow,
    otp: string,
  ): Promise<Failure | undefined> => {
    if (!isSent(factor)) {
      const proved = await factors.prove(unit, project, account, otp, [factor]);
      return proved instanceof Failure ? proved : undefined;
    }
    const given = { purposes: [purposes[factor]], userId: id, secret: otp.replace(/\s/g, '') };
    const redeemed = await secrets.redeem(unit, project, given);
    if (redeemed instanceof Failure) return redeemed;
    // An address that was changed meanwhile proves nothing any more.
    const isCurrent = redeemed.userId === account.id && redeemed.recipient === account[factor];
    return isCurrent ? undefined : new Failure('user_invalid_token');
  };

  return {
    /** Begins a challenge. A Failure 429 must be returned by the unit in turn. */
    begin: async (unit: Unit, challenged: Challenged, factor: SecondFactor): Promise<ChallengeRow | Failure> => {
      await demandUsable(unit, challenged, factor);
      const { project, account, session } = challenged;
      const row = { id: random.id(), projectId: project.id, userId: account.id, sessionId: session.id, factor };
      const refused = isSent(factor) ? await sendCode(unit, challenged, factor, row.id) : undefined;
      if (refused !== undefined) return refused;
      const expire = instantOf(millisecondsOf(unit.now) + pendingSeconds.challenge * 1000);
      const begun = { ...row, expire, createdAt: unit.now };
      await unit.run(store.put(begun));
      return begun;
    },
    /** Answers a challenge. A Failure, `user_invalid_token` for whatever is wrong, must be returned by the unit in turn. */
    answer: async (
      unit: Unit,
      challenged: Challenged,
      challengeId: string,
      otp: string,
    ): Promise<OpenedSession | Failure> => {
      const { project, account, session, request } = challenged;
      const found = await unit.one(store.find(session.id, challengeId, unit.now));
      if (found === undefined) return new Failure('user_invalid_token');
      const challenge = challenges.decode(found) as ChallengeRow;
      const { factor } = challenge;
      const refused = await prove(unit, challenged, challenge, otp);
      if (refused?.type === 'user_invalid_token') {
        const payload = { userId: account.id, factor, ip: request.ip };
        unit.record('challengeFailed', { resource: `users/${account.id}`, userId: account.id, payload });
      }
      if (refused !== undefined) return refused;
      await unit.run(store.remove(challengeId));
      return session.pending
        ? sessions.complete(unit, project, account, session, factor, request)
        : sessions.renew(unit, project, session, factor);
    },
  };
}
