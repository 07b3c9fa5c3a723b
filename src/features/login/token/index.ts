import type { Account } from '#src/contract/account.js';
import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Limits } from '../../limits/index.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';
import { type Sessions, toNewSession } from '../../sessions/index.js';
import { tokenLoginApi } from './api.js';
import { createOwner } from './owner.js';
import { type LoginPurpose, loginPurposes, ways } from './ways.js';

interface Doors {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly limits: Limits;
  readonly secrets: OneTimeSecrets;
}

/** A call that brings a secret. */
interface Redeeming {
  readonly project: Project;
  readonly actor: Actor;
  readonly request: RequestFacts;
  readonly body: { readonly userId: string; readonly secret: string; readonly otp?: string | undefined };
}

/** Login by a code or link that was sent, or by a token that a server made. */
export function createTokenLogin({ db }: Pick<Platform, 'db'>, { accounts, sessions, limits, secrets }: Doors) {
  const owner = createOwner(accounts);

  const redeem = async (unit: Unit, call: Redeeming, method: string, purposes: readonly LoginPurpose[]) => {
    const { project, actor, request, body } = call;
    const refuse = (failure: Failure, reason: string, how: string, account: Account | undefined, email = '') => {
      const payload = { method: how, email, ip: request.ip, reason };
      const resource = account === undefined ? 'users' : `users/${account.id}`;
      unit.record('loginFailed', { resource, payload, ...(account === undefined ? {} : { userId: account.id }) });
      return failure;
    };
    const redeemed = await secrets.redeem(unit, project, { purposes, userId: body.userId, secret: body.secret });
    if (redeemed instanceof Failure) {
      const named = await accounts.find(unit, project.id, body.userId);
      return refuse(redeemed, 'wrong, used or expired', method, named, named?.email ?? '');
    }
    const { provider, factor, contact } = ways[redeemed.purpose as LoginPurpose];
    const email = contact === 'email' ? redeemed.recipient : '';
    const account = await owner(unit, project, redeemed, contact, request.locale);
    if (account instanceof Failure)
      return refuse(
        account,
        account.type === 'user_already_exists' ? 'id taken' : 'address changed',
        provider,
        undefined,
        email,
      );
    if (!account.status) return refuse(new Failure('user_blocked'), 'blocked', provider, account, email);
    const proved = contact === undefined ? account : await accounts.markVerified(unit, project.id, account, contact);
    // A server key is never counted by address, so there is nothing to give back there.
    if (actor.kind !== 'key') await limits.forgive(unit, 'login', { address: request.ip });
    return sessions.open(unit, project, proved, {
      ...{ provider, providerUid: redeemed.recipient, factors: [factor], request, otp: body.otp },
    });
  };
  const login = async (call: Redeeming, method: string, purposes: readonly LoginPurpose[]) => {
    const opened = await db.work(by(call), (unit) => redeem(unit, call, method, purposes));
    return toNewSession(opened.session, opened.secret);
  };
  const operations = implement(tokenLoginApi, {
    login: (call) => login(call, 'token', loginPurposes),
    loginByLink: (call) => login(call, 'magic-url', ['magic-link']),
    loginByPhone: (call) => login(call, 'phone', ['phone-code']),
  });
  return { operations };
}
