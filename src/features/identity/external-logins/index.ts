import { Redirect } from '#src/contract/browser.js';
import { sessionCookieName } from '#src/contract/headers.js';
import { secretLife } from '#src/contract/limits.js';
import { auditContextOf } from '#src/contract/operation.js';
import { callbackScheme } from '#src/contract/platform.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Projects } from '../../installation/index.js';
import { linkTo, type OneTimeSecrets, toToken } from '../one-time-secrets/index.js';
import { toNewSession } from '../sessions/index.js';
import { type ExternalLogin, IdentityTaken, type Resolved, type ResolverDeps, resolveAccount } from './resolve.js';
import { type BrowserCall, createLoginTransactions, type LoginTransactions } from './service.js';

export { type RawProfile, toExternalProfile } from './profile.js';
export type { ExternalProfile } from './resolve.js';
export type { BrowserCall } from './service.js';
export { type Flow, sealedTransactions } from './store.js';

interface Deps extends ResolverDeps, Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'> {
  readonly secrets: OneTimeSecrets;
  readonly projects: Projects;
}

/** The `factors` of sessions opened through an identity provider. */
export const externalFactors = (factor: string): readonly string[] => ['email', factor];

/** The parts of a finished login that depend on the login method. */
interface Ending {
  /** The factor that the login proves. */
  readonly factor: string;
  /** Purpose of the secret issued at the end of the token flow. */
  readonly purpose: string;
}

/** The session of a login, or the redirect to the page of the application. */
type SessionResult = WithSession<ReturnType<typeof toNewSession> | Redirect>;

/** The service for logins at identity providers. */
export interface ExternalLogins extends Pick<LoginTransactions, 'begin' | 'resume' | 'unsolicited' | 'useOnce'> {
  readonly jobs: readonly Job[];
  /** Opens the account after a login at the provider, and redirects the browser to the page of the application. Throws Failure. */
  finish(login: ExternalLogin, ending: Ending): Promise<SessionResult | ReturnType<typeof toToken> | Redirect>;
  /** `finish` for methods that support only the session flow. */
  finishSession(login: ExternalLogin, factor: string): Promise<SessionResult>;
}

/** Logins through the site of an identity provider, for any protocol. */
export function createExternalLogins(deps: Deps): ExternalLogins {
  const { prune, ...transactions } = createLoginTransactions(deps);
  return { ...transactions, ...bind(deps, { finish, finishSession }), jobs: [prune] };
}

function finish(deps: Deps, login: ExternalLogin, { factor, purpose }: Ending) {
  const { call, transaction } = login;
  if (transaction.flow === 'token') return finishToken(deps, login, purpose);
  const success = transaction.success || defaultPage(call);
  return finishSession(deps, { ...login, transaction: { ...transaction, success } }, factor);
}

/** The default page for apps: their SDKs start a login without naming a page and wait for this URL. */
function defaultPage({ project, request }: BrowserCall): string {
  const page = `${callbackScheme(project)}://`;
  return project.apps.length > 0 && request.prefersPage() && URL.canParse(page) ? page : '';
}

async function finishToken(deps: Deps, login: ExternalLogin, purpose: string) {
  const issued = await end(deps, login, (unit, { account, identity }) =>
    deps.secrets.issue(unit, login.call.project, {
      purpose,
      // Each secret has its own subject, so that several can be open at once, for several devices.
      subject: `${identity.id}/${deps.random.id()}`,
      userId: account.id,
      recipient: identity.id,
      form: 'link',
      lifeSeconds: secretLife.externalLogin,
    }),
  );
  const { success } = login.transaction;
  if (success === '') return toToken(issued, issued.secret);
  return new Redirect(linkTo(new URL(success), { userId: issued.userId, secret: issued.secret }));
}

async function finishSession(deps: Deps, login: ExternalLogin, factor: string): Promise<SessionResult> {
  const { opened, tokens } = await end(deps, login, async (unit, resolved) => ({
    opened: await openSession(deps, unit, login, resolved, factor),
    tokens: deps.identities.tokensOf(login.call.project, resolved.identity),
  }));
  const { session, secret } = opened;
  const isAnswered = login.transaction.success === '';
  const answer = isAnswered ? toNewSession(opened, tokens) : new Redirect(withSession(deps, login, secret));
  return new WithSession(answer, { secret, expire: session.expire });
}

/** Runs `act` on the account that the login opens. Runs again if a parallel login was faster. */
function end<T>(deps: Deps, login: ExternalLogin, act: (unit: Unit, resolved: Resolved) => Promise<T>) {
  const once = () =>
    deps.db.work(auditContextOf(login.call), async (unit) => act(unit, await resolveAccount(deps, unit, login)));
  return once().catch((error: unknown) => {
    if (error instanceof IdentityTaken) return once();
    throw error;
  });
}

function openSession(
  { sessions }: Deps,
  unit: Unit,
  { call, endsBy = null }: ExternalLogin,
  { account, identity, session }: Resolved,
  factor: string,
) {
  const { provider, providerUid } = identity;
  const login = { provider, providerUid, factors: externalFactors(factor), request: call.request, endsBy };
  return sessions.open(unit, call.project, account, session === undefined ? login : { ...login, replaces: session });
}

/**
 * The page to redirect to after a login. An app has no access to the cookies of the browser it opened, so its SDK reads the session from
 * the URL.
 */
function withSession({ config }: Deps, { call, transaction }: ExternalLogin, secret: string): string {
  const page = new URL(transaction.success);
  if (page.protocol !== `${callbackScheme(call.project)}:`) return page.href;
  return linkTo(page, { key: sessionCookieName(call.project.id, config.baseUrl.startsWith('https:')), secret });
}
