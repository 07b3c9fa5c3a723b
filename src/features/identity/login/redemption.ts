import { type ErrorType, Failure } from '#src/contract/errors.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { ProviderTokens } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { externalFactors } from '../external-logins/index.js';
import { type OpenedSession, toNewSession } from '../sessions/index.js';
import type { LoginDeps, LoginMethod, LoginToolkit, RedeemCall } from './method.js';
import { createUserResolver } from './resolve-user.js';

/** Logs in by the one-time secrets of login methods. */
export function createRedemption(
  { db }: Pick<Runtime, 'db'>,
  deps: LoginDeps,
  methods: readonly LoginMethod[],
): LoginToolkit['redeem'] {
  const { users, sessions, limits, secrets, identities, providers } = deps;
  const resolver = createUserResolver(deps);
  const byPurpose = new Map(methods.flatMap((method) => (method.secret ? [[method.secret.purpose, method]] : [])));
  const everyPurpose = [...byPurpose.keys()];

  const open = async (
    unit: Unit,
    call: RedeemCall,
    presentedAs: string,
    purposes: readonly string[],
  ): Promise<OpenedSession & { readonly tokens: ProviderTokens | undefined }> => {
    const { project, actor, request, body } = call;
    const refuse = (type: ErrorType, reason: string, method: string, account?: UserRecord, email = ''): never => {
      const payload = { method, email, ip: request.ip, reason };
      const resource = account === undefined ? 'users' : `users/${account.id}`;
      unit.record('loginFailed', { resource, payload, ...(account === undefined ? {} : { userId: account.id }) });
      throw unit.refuse(type);
    };
    const presented = { purposes, userId: body.userId, secret: body.secret };
    const peeked = await secrets.peek(unit, project, presented);
    if (peeked !== undefined)
      await resolver.hold(unit, project, peeked, byPurpose.get(peeked.purpose)?.secret?.contact);
    const redeemed = await secrets.redeem(unit, project, presented);
    const method = redeemed && byPurpose.get(redeemed.purpose);
    if (redeemed === undefined || method === undefined) {
      const named = await users.find(unit, project.id, body.userId);
      throw refuse('user_invalid_token', 'wrong, used or expired', presentedAs, named, named?.email ?? '');
    }
    const { provider, factor } = method;
    const contact = method.secret?.contact;
    const identity = method.secret?.ofIdentity
      ? await identities.findById(unit, project, redeemed.recipient)
      : undefined;
    const email = contact === 'email' ? redeemed.recipient : '';
    const account = await resolver.find(unit, project, redeemed, contact, { actor, locale: request.locale });
    if (account === 'id taken') throw refuse('user_already_exists', account, provider, undefined, email);
    if (account === 'address changed') throw refuse('user_invalid_token', account, provider, undefined, email);
    if (method.secret?.ofIdentity && identity?.userId !== account.id)
      throw refuse('user_invalid_token', 'identity unlinked', provider, account, email);
    // It may have been disabled since the user came back from it.
    if (identity !== undefined && !(await providers.get(unit, project, identity.provider)).enabled)
      throw refuse('user_invalid_token', 'provider disabled', provider, account, email);
    if (!account.status) throw refuse('user_blocked', 'blocked', provider, account, email);
    // A server key is never counted by address, so there is nothing to give back there.
    if (actor.kind !== 'key') await limits.forgive(unit, 'login', { address: request.ip });
    const opened = await sessions.open(unit, project, account, {
      provider: identity?.provider ?? provider,
      providerUid: identity?.providerUid ?? redeemed.recipient,
      factors: identity === undefined ? [factor] : externalFactors(factor),
      request,
      otp: body.otp,
    });
    return { ...opened, tokens: identity && identities.tokensOf(project, identity) };
  };
  return async (call, provider, purposes = everyPurpose) => {
    const { project, actor } = call;
    // A secret of a way that the project has switched off is like one that was never issued.
    const offered = purposes.filter((purpose) => {
      const method = byPurpose.get(purpose);
      return actor.kind === 'key' || method === undefined || project.settings[method.login];
    });
    if (offered.length === 0) throw new Failure('user_auth_method_unsupported');
    const opened = await db.work(auditContextOf(call), (unit) => open(unit, call, provider, offered));
    return toNewSession(opened.session, opened.secret, opened.tokens);
  };
}
