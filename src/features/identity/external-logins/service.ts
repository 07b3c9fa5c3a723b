import type { Actor, User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { externalLoginSeconds } from '#src/contract/limits.js';
import { auditContextOf, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { addressBelow, isBelow } from '#src/contract/web-address.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import type { Projects } from '../../installation/index.js';
import type { Identities } from '../identities/index.js';
import type { Sessions } from '../sessions/index.js';
import { isAnonymous } from '../users/index.js';
import {
  createTransactionStore,
  createUsedAnswerStore,
  type Flow,
  loginTransactions,
  sealedTransactions,
  type TransactionRow,
} from './store.js';

/** A call of a browser, or of a server on its behalf. */
export interface BrowserCall {
  readonly project: Project;
  readonly actor: Actor;
  readonly request: RequestFacts;
}

/** A login that is to begin. */
interface Beginning {
  readonly provider: string;
  readonly flow: Flow;
  /** Pages of the application, checked here; empty where there is none. */
  readonly success: string;
  readonly failure: string;
  /** What the protocol has to remember. */
  readonly data: Readonly<Record<string, string>>;
  /** Whether the provider sends the browser back with a form. */
  readonly isPosted: boolean;
}

/** A login that has come back. */
export interface Transaction extends Omit<TransactionRow, 'data'> {
  readonly data: Readonly<Record<string, string>>;
}

interface Deps {
  readonly projects: Projects;
  readonly sessions: Sessions;
  readonly identities: Identities;
}

const notOpen = 'The login was not begun in this browser, was completed already, or has expired.';

/** Logins that lead through the site of an identity provider: from the address that a browser opens to its way back. */
export function createTransactions(
  { db, sql, clock, random, sealing, config }: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
  { projects, sessions, identities }: Deps,
) {
  const store = createTransactionStore(sql);
  const usedAnswers = createUsedAnswerStore(sql);
  const aadOf = (id: string) => ({ column: sealedTransactions, row: id });
  const pageOf = (project: Project, page: string, param: string): string =>
    page === '' ? '' : projects.demandOwnUrl(project, page, param).href;
  /**
   * Whose account gets the identity: that of the session in the browser. A token is for whoever opens the address that a server was given,
   * so there only a cookie tells. Another way in is given by a fresh login only, but for an anonymous account, which has none.
   */
  const linkingUser = async ({ project, actor }: BrowserCall, flow: Flow): Promise<User | undefined> => {
    if (actor.kind !== 'user' || (flow === 'token' && actor.via !== 'cookie')) return undefined;
    const { id, account, session } = actor;
    const hasNothing = isAnonymous(account) && !(await identities.hasAny(db, project, id));
    if (!hasNothing) sessions.demandFresh(session);
    return actor;
  };

  const ownPages = new URL(config.baseUrl);
  const donePage = addressBelow(config.baseUrl, 'auth/done');
  /** A page of the service does what its address says, which anybody may have written; only the one that ends logins may be at the end of one. */
  const demandNoOwnPage = (success: string): void => {
    if (success === '' || !isBelow(new URL(success), ownPages) || isBelow(new URL(success), donePage)) return;
    throw new Failure('general_argument_invalid', {
      message: 'Invalid `success` param: must be a page of the application, not one of the service.',
    });
  };

  return {
    /** Begins a login; the state is what the provider has to send back. Throws Failure for pages that are not on a platform of the project. */
    begin: async (call: BrowserCall, { provider, flow, isPosted, ...input }: Beginning): Promise<string> => {
      const { project, request } = call;
      const [success, failure] = [pageOf(project, input.success, 'success'), pageOf(project, input.failure, 'failure')];
      if (failure !== '') request.browser.leadErrorsTo(new URL(failure));
      demandNoOwnPage(success);
      if (success !== '') request.browser.endAt(new URL(success));
      const user = await linkingUser(call, flow);
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
    },
    /**
     * Takes up a login that comes back with its state: once, at the provider and in the project that it was begun with, and in the same
     * browser (RFC 9700 §4.4 and §4.7). Throws Failure `user_invalid_token`.
     */
    resume: async (call: BrowserCall, provider: string, state: string): Promise<Transaction> => {
      const { project, request } = call;
      const id = digest(state);
      const row = await db.work(auditContextOf(call), (unit) =>
        unit.one(store.take(project.id, provider, id, unit.now)),
      );
      if (row === undefined) throw new Failure('user_invalid_token', { message: notOpen });
      const { data, ...transaction } = loginTransactions.decode(row);
      // A platform may have been removed meanwhile.
      const failurePage = projects.ownUrl(project, transaction.failure);
      if (failurePage !== undefined) request.browser.leadErrorsTo(failurePage);
      const success = pageOf(project, transaction.success, 'success');
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
    },
    /** A login that the provider begins, which leads to this page. Throws Failure for a page that is on no platform of the project. */
    unsolicited: (project: Project, provider: string, success: string) =>
      ({
        provider,
        flow: 'session',
        success: pageOf(project, success, 'success'),
        userId: null,
        sessionId: null,
      }) as const,
    /** Takes note of an answer of a provider that counts once; false where it came before. It is remembered while it could come again. */
    useOnce: async (
      unit: Unit,
      project: Project,
      provider: string,
      answer: string,
      untilMs: number,
    ): Promise<boolean> => {
      const row = { projectId: project.id, provider, answer, expire: instantOf(untilMs) };
      return (await unit.one(usedAnswers.insert(row))) !== undefined;
    },
    prune: {
      name: 'logins.prune',
      schedule: '0 35 * * * *',
      summary:
        'Deletes logins at identity providers that were not completed in time, and used answers that have expired',
      lease: 'database',
      run: async (signal) => {
        const by = { projectId: null, actor: { kind: 'job', id: 'logins.prune' }, requestId: random.id() };
        await pruneInBatches(db, by, signal, (limit) => store.prune(instantOf(clock.now()), limit));
        await pruneInBatches(db, by, signal, (limit) => usedAnswers.prune(instantOf(clock.now()), limit));
      },
    } satisfies Job,
  };
}
