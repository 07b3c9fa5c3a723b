import { type ErrorType, Failure } from '#src/contract/errors.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { externalFactors } from '../external-logins/index.js';
import { toNewSession } from '../sessions/index.js';
import { refusalRecord } from '../users/index.js';
import type { LoginDeps, LoginMethod, LoginToolkit, RedeemCall } from './method/method.js';
import { holdUser, resolveUser } from './resolve-user.js';

interface Deps extends LoginDeps, Pick<Runtime, 'db'> {
  readonly byPurpose: ReadonlyMap<string, LoginMethod>;
  readonly everyPurpose: readonly string[];
}

/** Creates the login with one-time secrets of all login methods. */
export function createRedemption(
  { db }: Pick<Runtime, 'db'>,
  services: LoginDeps,
  methods: readonly LoginMethod[],
): LoginToolkit['redeem'] {
  const byPurpose = new Map(methods.flatMap((method) => (method.secret ? [[method.secret.purpose, method]] : [])));
  const everyPurpose = [...byPurpose.keys()];
  const deps: Deps = { ...services, db, byPurpose, everyPurpose };
  return (call, provider, purposes) => redeem(deps, call, provider, purposes);
}

async function redeem(deps: Deps, call: RedeemCall, provider: string, purposes = deps.everyPurpose) {
  const { project, actor } = call;
  // If the project has switched a method off, its secrets are treated as never issued.
  const offered = purposes.filter((purpose) => {
    const method = deps.byPurpose.get(purpose);
    return actor.kind === 'key' || method === undefined || project.settings[method.login];
  });
  if (offered.length === 0) throw new Failure('user_auth_method_unsupported');
  const opened = await deps.db.work(auditContextOf(call), (unit) => open(deps, unit, call, provider, offered));
  return toNewSession(opened, opened.tokens);
}

async function open(deps: Deps, unit: Unit, call: RedeemCall, presentedAs: string, purposes: readonly string[]) {
  const { users, sessions, limits, secrets, identities, providers, byPurpose } = deps;
  const { project, actor, request, body } = call;
  const refuse = (type: ErrorType, reason: string, method: string, account?: UserRecord, email = ''): never => {
    const payload = { method, email, ip: request.ip, reason };
    unit.record('loginFailed', refusalRecord(account?.id, payload));
    throw unit.refuse(type);
  };
  const presented = { purposes, userId: body.userId, secret: body.secret };
  const peeked = await secrets.peek(unit, project, presented);
  if (peeked !== undefined) await holdUser(deps, unit, project, peeked, byPurpose.get(peeked.purpose)?.secret?.contact);
  const redeemed = await secrets.redeem(unit, project, presented);
  const method = redeemed && byPurpose.get(redeemed.purpose);
  if (redeemed === undefined || method === undefined) {
    const named = await users.find(unit, project.id, body.userId);
    throw refuse('user_invalid_token', 'wrong, used or expired', presentedAs, named, named?.email ?? '');
  }
  const { provider, factor } = method;
  const contact = method.secret?.contact;
  const identity = method.secret?.ofIdentity ? await identities.findById(unit, project, redeemed.recipient) : undefined;
  const email = contact === 'email' ? redeemed.recipient : '';
  const account = await resolveUser(deps, unit, project, redeemed, contact, { actor, locale: request.locale });
  if (account === 'id taken') throw refuse('user_already_exists', account, provider, undefined, email);
  if (account === 'address changed') throw refuse('user_invalid_token', account, provider, undefined, email);
  if (method.secret?.ofIdentity && identity?.userId !== account.id)
    throw refuse('user_invalid_token', 'identity unlinked', provider, account, email);
  // The provider may have been disabled since the user came back from it.
  if (identity !== undefined && !(await providers.get(unit, project, identity.provider)).enabled)
    throw refuse('user_invalid_token', 'provider disabled', provider, account, email);
  if (!account.status) throw refuse('user_blocked', 'blocked', provider, account, email);
  // Calls with a server key are not counted by address, so there is nothing to refund.
  if (actor.kind !== 'key') await limits.forgive(unit, 'login', { address: request.ip });
  const opened = await sessions.open(unit, project, account, {
    provider: identity?.provider ?? provider,
    providerUid: identity?.providerUid ?? redeemed.recipient,
    factors: identity === undefined ? [factor] : externalFactors(factor),
    request,
    otp: body.otp,
  });
  return { ...opened, tokens: identity && identities.tokensOf(project, identity) };
}
