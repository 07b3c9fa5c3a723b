import { Redirect } from '#src/contract/browser.js';
import { type Call, implement, invoke, type Operation, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import { hostedPagesApi } from './api.js';
import type { PageTexts } from './texts/en.js';
import { createAddresses, createPageView, errorTypeOf, type PageQuery } from './view.js';

interface Deps {
  readonly projects: Projects;
  readonly providers: Providers;
  /** What the forms do: the same operations that clients call. */
  readonly operations: readonly Operation[];
}

type Api = typeof hostedPagesApi;
type Visit = { readonly query: PageQuery; readonly request: RequestFacts };
type Submission = Pick<Call<Api['signIn' | 'proveSecondFactor']>, 'project' | 'actor' | 'query' | 'request'>;
type Session = { readonly secret: string; readonly expire: string };

/** Pages to sign in with, for applications that have none of their own. They work without scripts, but for passkeys. */
export function createHostedPages(runtime: Pick<Runtime, 'db' | 'pages' | 'config'>, deps: Deps) {
  const { db } = runtime;
  const { projects, providers } = deps;
  const show = createPageView(runtime);
  const addressOf = createAddresses(runtime);
  const byId = new Map(deps.operations.map((operation) => [operation.declaration.id, operation]));

  /** Calls an operation as a client does, with its validation, limits and records. */
  const run = async <T = object>({ project, actor, request }: Submission, id: string, body: object): Promise<T> => {
    const operation = byId.get(id);
    if (operation === undefined) throw new TypeError(`there is no operation ${id}`);
    return (await invoke(operation, { project, actor, params: {}, query: {}, body, request })) as T;
  };
  const successOf = (project: Project, success: string): URL | undefined =>
    success === '' ? undefined : projects.demandOwnUrl(project, success, 'success');
  const keptOf = ({ project, query }: Submission) => ({ project: project.id, success: query.success });
  const to = (call: Submission, page: string, further: Readonly<Record<string, string>> = {}): Redirect =>
    new Redirect(addressOf(`auth/${page}`, { ...keptOf(call), ...further }));
  /** Hands the session over and leads on. */
  const opened = (call: Submission, { secret, expire }: Session) => {
    const success = successOf(call.project, call.query.success) ?? addressOf('auth/done', keptOf(call));
    return new WithSession(new Redirect(success), { secret, expire });
  };
  const page = (name: string, heading: keyof PageTexts) => async (call: Visit) => {
    const { query, request } = call;
    const project = await projects.current(query.project);
    const success = successOf(project, query.success);
    return show({ name, heading, project, query, locale: request.locale, success });
  };
  const secondFactorPage = page('second-factor', 'second-factor');
  const signInPage = async (call: Visit) => {
    const { query, request } = call;
    // Logins that lead through another site come back here too.
    if (errorTypeOf(query.error) === 'user_more_factors_required') return secondFactorPage(call);
    const project = await projects.current(query.project);
    const enabled = (await providers.list(db, project)).filter((provider) => provider.enabled);
    const success = successOf(project, query.success);
    const shown = { name: 'sign-in', heading: 'sign-in', project, query, locale: request.locale, success } as const;
    return show({ ...shown, providers: enabled });
  };
  const afterFirstFactor = (name: string, heading: keyof PageTexts) => {
    const itself = page(name, heading);
    return (call: Visit) =>
      errorTypeOf(call.query.error) === 'user_more_factors_required' ? secondFactorPage(call) : itself(call);
  };

  const views = {
    signInPage,
    signUpPage: page('sign-up', 'sign-up'),
    emailPage: page('email', 'email-page'),
    codePage: afterFirstFactor('code', 'code-page'),
    linkPage: afterFirstFactor('link', 'link-page'),
    secondFactorPage,
    recoveryPage: page('recovery', 'recovery'),
    resetPage: page('reset', 'reset'),
    verifyPage: page('verify', 'verify'),
    donePage: page('done', 'done'),
    verifiedPage: page('verified', 'verified'),
  };
  const operations = implement(hostedPagesApi, {
    ...views,
    signIn: async (call) => opened(call, await run<Session>(call, 'account.createEmailSession', call.body)),
    signUp: async (call) => {
      const { email, password } = call.body;
      await run(call, 'account.create', { userId: uniqueId, ...call.body });
      // A login would tell whether the address was taken.
      if (call.project.settings['signup.hideExisting']) return to(call, 'sign-in', { notice: 'registered' });
      return opened(call, await run<Session>(call, 'account.createEmailSession', { email, password }));
    },
    sendEmail: async (call) => {
      const { email, form } = call.body;
      if (form === 'link') {
        const url = addressOf('auth/link', { success: call.query.success }).href;
        await run(call, 'account.createMagicURLToken', { userId: uniqueId, email, url });
        return to(call, 'email', { notice: 'sent' });
      }
      const { userId } = await run<{ userId: string }>(call, 'account.createEmailToken', { userId: uniqueId, email });
      return to(call, 'code', { userId, notice: 'sent' });
    },
    redeem: async (call) => opened(call, await run<Session>(call, 'account.createSession', call.body)),
    proveSecondFactor: async (call) => {
      const otp = call.body.otp.trim();
      const factor = /^\d{6}$/.test(otp) ? 'totp' : 'recoverycode';
      const { $id: challengeId } = await run<{ $id: string }>(call, 'account.createMfaChallenge', { factor });
      return opened(call, await run<Session>(call, 'account.updateMfaChallenge', { challengeId, otp }));
    },
    recover: async (call) => {
      const url = addressOf('auth/reset', { success: call.query.success }).href;
      await run(call, 'account.createRecovery', { email: call.body.email, url });
      return to(call, 'recovery', { notice: 'sent' });
    },
    reset: async (call) => {
      await run(call, 'account.updateRecovery', call.body);
      return to(call, 'sign-in', { notice: 'changed' });
    },
    verify: async (call) => {
      await run(call, 'account.updateEmailVerification', call.body);
      return to(call, 'verified');
    },
  });
  return { operations };
}
