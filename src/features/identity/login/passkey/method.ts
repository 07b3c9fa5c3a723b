import type { ErrorType } from '#src/contract/errors.js';
import { auditContextOf, type Call } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type PasskeyRow, readClientData, userHandle } from '../../passkeys/index.js';
import type { OpenedSession } from '../../sessions/index.js';
import { refusalRecord } from '../../users/index.js';
import type { LoginToolkit } from '../method/method.js';
import type { passkeyLoginApi } from './api.js';
import { decoyPublicKey } from './decoys.js';

/** Provider and factor of passkey logins. */
export const passkeyLogin = { provider: 'passkey', factor: 'passkey' } as const;

type Finish = Call<(typeof passkeyLoginApi)['finish']>;

/** Result of verifying a finish call, before anything is changed. */
interface Shown {
  readonly account: UserRecord | undefined;
  readonly passkey: PasskeyRow | undefined;
  readonly counter: number;
  readonly userVerified: boolean;
  /** The reason for refusal, if it is refused. */
  readonly reason: string | undefined;
}

const decoy = { credentialId: '', publicKey: decoyPublicKey, counter: 0, backupEligible: false };

type Deps = LoginToolkit & Pick<Runtime, 'db'>;

/**
 * Logs in with a passkey (WebAuthn L3 §7.2). Unknown user, unknown passkey and wrong signature get the same response, after the same queries
 * and one signature verification each.
 */
export async function logInByPasskey(deps: Deps, call: Finish): Promise<OpenedSession> {
  const { db, limits, passkeys } = deps;
  const { project, body } = call;
  const context = auditContextOf(call);
  const challenge = readClientData(body.response)?.challenge ?? '';
  const use = { purpose: 'login', subject: body.email ?? '' } as const;
  const keys = body.email === undefined ? {} : { account: accountKey(body.email) };
  return limits.attempt(context, 'login', keys, async () => {
    const isOurs = await db.work(context, (unit) => passkeys.challenges.take(unit, project, challenge, use));
    const shown = await verify(deps, call, isOurs);
    return db.work(context, (unit) => open(deps, unit, call, shown));
  });
}

/** Failed passkey logins do not lock other login methods. */
function accountKey(email: string): string {
  return `passkey:${email}`;
}

/** Verifies the response, after the challenge was consumed. */
async function verify(deps: Deps, { project, body }: Finish, isOurs: boolean): Promise<Shown> {
  const { db, users, passkeys } = deps;
  const { email, response } = body;
  const found = await passkeys.findByCredential(db, project, response.id);
  const account =
    email === undefined
      ? await users.find(db, project.id, found?.userId ?? '')
      : await users.findByEmail(db, project.id, email);
  const passkey = found !== undefined && found.userId === account?.id ? found : undefined;
  const checked = await passkeys.verifier.login(project, response, passkey ?? decoy);
  const handle = response.response.userHandle ?? '';
  // §7.2 step 6: a login without an address must contain the user handle.
  const isNamed =
    handle === '' ? email !== undefined : account !== undefined && handle === userHandle(project, account.id);
  const reasons = [
    ...(isOurs ? [] : ['wrong, used or expired challenge']),
    ...(passkey === undefined ? ['unknown passkey'] : []),
    ...('refused' in checked ? [checked.refused] : []),
    ...(isNamed ? [] : ['another user handle']),
  ];
  const shown = 'refused' in checked ? { counter: 0, userVerified: false } : checked;
  return { account, passkey, ...shown, reason: reasons[0] };
}

async function open(deps: Deps, unit: Unit, call: Finish, shown: Shown): Promise<OpenedSession> {
  const { users, sessions, limits, passkeys, factors } = deps;
  const { project, actor, request, body } = call;
  const { account, passkey, counter, userVerified } = shown;
  const email = body.email ?? account?.email ?? '';
  const refuse = (reason: string, type: ErrorType = 'user_invalid_credentials'): never => {
    const payload = { method: passkeyLogin.factor, email, ip: request.ip, reason };
    unit.record('loginFailed', refusalRecord(account?.id, payload));
    throw unit.refuse(type);
  };
  if (shown.reason !== undefined || account === undefined || passkey === undefined)
    throw refuse(shown.reason ?? 'unknown passkey');
  const current = await users.lockById(unit, project.id, account.id);
  if (current === undefined) throw refuse('unknown passkey');
  if (body.email !== undefined && current.email !== body.email) throw refuse('address changed');
  if (!current.status) throw refuse('blocked', 'user_blocked');
  if (!(await passkeys.use(unit, passkey, counter))) throw refuse('passkey removed or used meanwhile');
  // Possession alone is one factor. It suffices only if the project allows it or a second factor is required anyway.
  const isEnough = userVerified || project.settings['passkeys.userVerification'] === 'preferred';
  if (!isEnough && !(await factors.isOn(unit, project, current))) throw refuse('user not verified');
  const address = actor.kind === 'key' ? {} : { address: request.ip };
  const named = body.email === undefined ? {} : { account: accountKey(body.email) };
  await limits.forgive(unit, 'login', { ...named, ...address });
  return sessions.open(unit, project, current, {
    provider: passkeyLogin.provider,
    providerUid: passkey.id,
    factors: [passkeyLogin.factor],
    multiFactor: userVerified,
    request,
    otp: body.otp,
  });
}
