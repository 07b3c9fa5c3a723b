import type { Actor } from '#src/contract/actor.js';
import { Failure, invalidParam } from '#src/contract/errors.js';
import { externalLoginSeconds } from '#src/contract/limits.js';
import { auditContextOf, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { addressBelow, isBelow } from '#src/contract/web-address.js';
import { digest, equalDigests } from '#src/platform/crypto/digest.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../../installation/index.js';
import type { Identities } from '../identities/index.js';
import type { Sessions } from '../sessions/index.js';
import { isAnonymous } from '../users/index.js';
import {
  createLoginTransactionStore,
  type Flow,
  loginTransactions,
  sealedTransactions,
  type TransactionRow,
} from './store.js';

/** A call by a browser, or by a server on its behalf. */
export interface BrowserCall {
  readonly project: Project;
  readonly actor: Actor;
  readonly request: RequestFacts;
}

interface Beginning {
  readonly provider: string;
  readonly flow: Flow;
  /** Pages of the application, not yet checked; empty if there is none. */
  readonly success: string;
  readonly failure: string;
  /** State that the protocol needs when the browser returns. */
  readonly data: Readonly<Record<string, string>>;
  /** True if the provider returns the browser with a form POST. */
  readonly isPosted: boolean;
}

/** A login whose browser has returned from the provider. */
export interface LoginTransaction extends Omit<TransactionRow, 'data'> {
  readonly data: Readonly<Record<string, string>>;
}

type LoginTransactionStore = ReturnType<typeof createLoginTransactionStore>;

interface Deps extends Pick<Runtime, 'db' | 'random' | 'sealing'> {
  readonly projects: Projects;
  readonly sessions: Sessions;
  readonly identities: Identities;
  readonly store: LoginTransactionStore;
  readonly ownPages: URL;
  readonly donePage: URL;
}

const notOpen = 'The login was not begun in this browser, was completed already, or has expired.';

/** A login that the provider has initiated. */
interface UnsolicitedLogin extends Pick<LoginTransaction, 'provider' | 'success'> {
  readonly flow: 'session';
  readonly userId: null;
  readonly sessionId: null;
}

/** Logins through the site of an identity provider. */
export interface LoginTransactions {
  /**
   * Begins a login and returns the state that the provider must send back. Throws Failure for pages that are not on a platform of the
   * project.
   */
  begin(call: BrowserCall, beginning: Beginning): Promise<string>;
  /**
   * Resumes a login when the browser returns with its state: only once, only for the same provider, project and browser (RFC 9700 §4.4
   * and §4.7). Throws Failure `user_invalid_token`.
   */
  resume(call: BrowserCall, provider: string, state: string): Promise<LoginTransaction>;
  /**
   * A login that the provider initiates and that ends at this page. Throws Failure for a page that is not on a platform of the project.
   */
  unsolicited(project: Project, provider: string, success: string): UnsolicitedLogin;
  /** Marks a response of a provider as used; false if it was used before. The mark is kept until the response has expired. */
  useOnce(unit: Unit, project: Project, provider: string, answer: string, untilMs: number): Promise<boolean>;
  readonly prune: Job;
}

/** Creates the logins through the site of an identity provider, from the redirect to the provider to the return of the browser. */
export function createLoginTransactions(
  given: Pick<Runtime, 'sql' | 'clock' | 'config'> & Omit<Deps, 'store' | 'ownPages' | 'donePage'>,
): LoginTransactions {
  const { db, sql, clock, random, config } = given;
  const deps: Deps = {
    ...given,
    store: createLoginTransactionStore(sql),
    ownPages: new URL(config.baseUrl),
    donePage: addressBelow(config.baseUrl, 'auth/done'),
  };
  const prune: Job = {
    name: 'logins.prune',
    schedule: '0 35 * * * *',
    summary: 'Deletes logins at identity providers that were not completed in time, and used answers that have expired',
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'logins.prune' }, requestId: random.id() };
      await pruneInBatches(db, by, signal, (limit) => deps.store.prune(instantOf(clock.now()), limit));
      await pruneInBatches(db, by, signal, (limit) => deps.store.pruneAnswers(instantOf(clock.now()), limit));
    },
  };
  return { ...bind(deps, { begin, resume, unsolicited, useOnce }), prune };
}

async function begin(deps: Deps, call: BrowserCall, { provider, flow, isPosted, ...input }: Beginning) {
  const { db, random, sealing, store } = deps;
  const { project, request } = call;
  const success = pageOf(deps, project, input.success, 'success');
  const failure = pageOf(deps, project, input.failure, 'failure');
  if (failure !== '') request.browser.leadErrorsTo(new URL(failure));
  requireNoOwnPage(deps, success);
  if (success !== '') request.browser.endAt(new URL(success));
  const user = await linkingUser(deps, call, flow);
  const state = random.secret();
  const id = digest(state);
  const isBound = flow === 'session' || user !== undefined;
  const binding = { id: random.id(), secret: random.secret() };
  await db.work(auditContextOf(call), (unit) =>
    unit.run(
      store.insert({
        id,
        projectId: project.id,
        provider,
        flow,
        success,
        failure,
        userId: user?.id ?? null,
        sessionId: user?.session.id ?? null,
        bindingId: isBound ? binding.id : null,
        bindingDigest: isBound ? digest(binding.secret) : null,
        data: sealing.seal(project.id, project.dataKey, aadOf(id), JSON.stringify(input.data)),
        expire: instantOf(millisecondsOf(unit.now) + externalLoginSeconds * 1000),
        createdAt: unit.now,
      }),
    ),
  );
  if (isBound) request.browser.bind({ ...binding, lifeSeconds: externalLoginSeconds, isPosted });
  return state;
}

function pageOf({ projects }: Deps, project: Project, page: string, param: string): string {
  return page === '' ? '' : projects.requireOwnUrl(project, page, param).href;
}

/**
 * Throws Failure for a success page on the service itself, other than the one for finished logins: anyone can write such a URL, and these
 * pages act on their parameters.
 */
function requireNoOwnPage({ ownPages, donePage }: Deps, success: string): void {
  if (success === '' || !isBelow(new URL(success), ownPages) || isBelow(new URL(success), donePage)) return;
  throw invalidParam('success', 'must be a page of the application, not one of the service.');
}

/**
 * The user whose account gets the identity: the owner of the session in the browser. In the token flow anyone may open the URL that a
 * server was given, so only a cookie identifies the user there. Linking requires a recent login, except for anonymous accounts, which
 * have no way to log in again.
 */
async function linkingUser({ db, sessions, identities }: Deps, { project, actor }: BrowserCall, flow: Flow) {
  if (actor.kind !== 'user' || (flow === 'token' && actor.via !== 'cookie')) return undefined;
  const { id, account, session } = actor;
  const hasNothing = isAnonymous(account) && !(await identities.hasAny(db, project, id));
  if (!hasNothing) sessions.requireFresh(session);
  return actor;
}

function aadOf(id: string) {
  return { column: sealedTransactions, row: id };
}

async function resume(deps: Deps, call: BrowserCall, provider: string, state: string): Promise<LoginTransaction> {
  const { db, sealing, projects, store } = deps;
  const { project, request } = call;
  const id = digest(state);
  const row = await db.work(auditContextOf(call), (unit) => unit.one(store.take(project.id, provider, id, unit.now)));
  if (row === undefined) throw new Failure('user_invalid_token', { message: notOpen });
  const { data, ...transaction } = loginTransactions.decode(row);
  // The platform may have been removed since the login began.
  const failurePage = projects.ownUrl(project, transaction.failure);
  if (failurePage !== undefined) request.browser.leadErrorsTo(failurePage);
  const success = pageOf(deps, project, transaction.success, 'success');
  if (success !== '') request.browser.endAt(new URL(success));
  const { bindingId, bindingDigest } = transaction;
  if (bindingId !== null) {
    const secret = request.browser.takeBinding(bindingId);
    if (secret === null || bindingDigest === null || !equalDigests(digest(secret), bindingDigest))
      throw new Failure('user_invalid_token', { message: notOpen });
  }
  const opened = sealing.tryOpen(project.id, project.dataKey, aadOf(id), data);
  if (opened === undefined) throw new Failure('user_invalid_token', { message: notOpen });
  return { ...transaction, data: JSON.parse(opened) };
}

function unsolicited(deps: Deps, project: Project, provider: string, page: string): UnsolicitedLogin {
  const success = pageOf(deps, project, page, 'success');
  return { provider, flow: 'session', success, userId: null, sessionId: null };
}

async function useOnce(deps: Deps, unit: Unit, project: Project, provider: string, answer: string, untilMs: number) {
  const row = { projectId: project.id, provider, answer, expire: instantOf(untilMs) };
  return (await unit.one(deps.store.useAnswer(row))) !== undefined;
}
