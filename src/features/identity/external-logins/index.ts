import { Redirect } from '#src/contract/browser.js';
import { secretLife } from '#src/contract/limits.js';
import { auditContextOf } from '#src/contract/operation.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Claims } from '../claims/index.js';
import type { Identities } from '../identities/index.js';
import { linkTo, type OneTimeSecrets, toToken } from '../one-time-secrets/index.js';
import { type Sessions, toNewSession } from '../sessions/index.js';
import type { UserChanges, Users } from '../users/index.js';
import { createAccountResolver, IdentityTaken, type Login, type Resolved } from './accounts/resolve.js';
import { createTransactions } from './service.js';

export { type RawProfile, toExternalProfile } from './accounts/profile.js';
export type { ExternalProfile } from './accounts/resolve.js';
export type { BrowserCall } from './service.js';
export { type Flow, sealedTransactions } from './store.js';

interface Deps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly claims: Claims;
  readonly identities: Identities;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly projects: Projects;
}

/** What a login at an identity provider proves, as `factors` of its session says it. */
export const externalFactors = (factor: string): readonly string[] => ['email', factor];

/** How a login method ends its logins. */
interface Ending {
  /** What the login proves. */
  readonly factor: string;
  /** The purpose of the secret by which the token flow ends. */
  readonly purpose: string;
}

/** Logins that lead through the site of an identity provider, whatever protocol it speaks. */
export function createExternalLogins(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
  deps: Deps,
) {
  const { db, random } = runtime;
  const { identities, sessions, secrets } = deps;
  const { begin, resume, unsolicited, useOnce, prune } = createTransactions(runtime, deps);
  const resolve = createAccountResolver(deps);

  const openSession = (unit: Unit, { call }: Login, { account, identity, session }: Resolved, factor: string) => {
    const { provider, providerUid } = identity;
    const login = { provider, providerUid, factors: externalFactors(factor), request: call.request };
    return sessions.open(unit, call.project, account, session === undefined ? login : { ...login, replaces: session });
  };
  const issueToken = (unit: Unit, { call }: Login, { account, identity }: Resolved, purpose: string) =>
    secrets.issue(unit, call.project, {
      purpose,
      // Several may be open at once, for several devices: each is a subject of its own.
      subject: `${identity.id}/${random.id()}`,
      userId: account.id,
      recipient: identity.id,
      form: 'link',
      lifeSeconds: secretLife.externalLogin,
    });
  /** Ends a login in the account that it opens; once more where a parallel login was quicker. */
  const end = <T>(login: Login, act: (unit: Unit, resolved: Resolved) => Promise<T>): Promise<T> => {
    const once = () => db.work(auditContextOf(login.call), async (unit) => act(unit, await resolve(unit, login)));
    return once().catch((error: unknown) => {
      if (error instanceof IdentityTaken) return once();
      throw error;
    });
  };
  const finishSession = async (login: Login, factor: string) => {
    const { opened, tokens } = await end(login, async (unit, resolved) => ({
      opened: await openSession(unit, login, resolved, factor),
      tokens: identities.tokensOf(login.call.project, resolved.identity),
    }));
    const { session, secret } = opened;
    const { success } = login.transaction;
    const answer = success === '' ? toNewSession(session, secret, tokens) : new Redirect(success);
    return new WithSession(answer, { secret, expire: session.expire });
  };
  const finishToken = async (login: Login, purpose: string) => {
    const issued = await end(login, (unit, resolved) => issueToken(unit, login, resolved, purpose));
    const { success } = login.transaction;
    if (success === '') return toToken(issued, issued.secret);
    return new Redirect(linkTo(new URL(success), { userId: issued.userId, secret: issued.secret }));
  };

  return {
    begin,
    resume,
    unsolicited,
    useOnce,
    jobs: [prune],
    /** Opens the account of who has logged in at the provider, and leads the browser to the page of the application. Throws Failure. */
    finish: (login: Login, { factor, purpose }: Ending) =>
      login.transaction.flow === 'token' ? finishToken(login, purpose) : finishSession(login, factor),
    /** The same for a method that has the session flow only. */
    finishSession,
  };
}

/** The service of logins at identity providers. */
export type ExternalLogins = ReturnType<typeof createExternalLogins>;
