import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { type Call, implement, invoke, type Operation } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import { addressBelow } from '#src/contract/web-address.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import { hostedPagesApi } from './api.js';
import { createLogos } from './branding/logos.js';
import { createViews } from './service.js';

interface Deps {
  readonly projects: Projects;
  readonly providers: Providers;
  /** What the forms do: the same operations that clients call. */
  readonly operations: readonly Operation[];
}

type Api = typeof hostedPagesApi;
type Submission = Pick<Call<Api['signIn' | 'proveSecondFactor']>, 'project' | 'actor' | 'query' | 'request'>;
type Session = { readonly secret: string; readonly expire: string };

/** Pages to sign in with, for applications that have none of their own. They work without scripts, but for passkeys. */
export function createHostedPages(runtime: Pick<Runtime, 'db' | 'sql' | 'pages' | 'config'>, deps: Deps) {
  const { db, config } = runtime;
  const { projects } = deps;
  const logos = createLogos(runtime);
  const addressOf = (page: string, query: Readonly<Record<string, string>>) =>
    addressBelow(config.baseUrl, page, query);
  const views = createViews(runtime, { ...deps, logos });
  const byId = new Map(deps.operations.map((operation) => [operation.declaration.id, operation]));

  /** Calls an operation as a client does, with its validation, limits and records. */
  const run = async <T = object>(
    { project, actor, request }: Submission,
    id: string,
    body: object,
    params: Readonly<Record<string, string>> = {},
  ): Promise<T> => {
    const operation = byId.get(id);
    if (operation === undefined) throw new TypeError(`there is no operation ${id}`);
    return (await invoke(operation, { project, actor, params, query: {}, body, request })) as T;
  };
  const keptOf = ({ project, query }: Submission) => ({ project: project.id, success: query.success });
  const successOf = ({ project, query }: Submission): URL | undefined =>
    query.success === '' ? undefined : projects.demandOwnUrl(project, query.success, 'success');
  const to = (call: Submission, page: string, further: Readonly<Record<string, string>> = {}): Redirect =>
    new Redirect(addressOf(`auth/${page}`, { ...keptOf(call), ...further }));
  /** Hands the session over and leads on. */
  const opened = (call: Submission, { secret, expire }: Session) => {
    const success = successOf(call) ?? addressOf('auth/done', keptOf(call));
    return new WithSession(new Redirect(success), { secret, expire });
  };

  const operations = implement(hostedPagesApi, {
    ...views,
    magicUrlPage: async ({ query }) => {
      const { id: project } = await projects.current(query.project);
      return new Redirect(addressOf('auth/link', { ...query, project }));
    },
    logo: async ({ query }) => logos.get(db, await projects.current(query.project)),
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
    sendSms: async (call) => {
      const phone = dialled(call.body.phone);
      const { userId } = await run<{ userId: string }>(call, 'account.createPhoneToken', { userId: uniqueId, phone });
      return to(call, 'code', { userId, by: 'phone', notice: 'sentSms' });
    },
    redeem: async (call) => opened(call, await run<Session>(call, 'account.createSession', call.body)),
    proveSecondFactor: async (call) => {
      const otp = call.body.otp.trim();
      const isCode = /^\d{6}$/.test(otp);
      const begin = async () => {
        const factor = isCode ? 'totp' : 'recoverycode';
        return (await run<{ $id: string }>(call, 'account.createMfaChallenge', { factor })).$id;
      };
      const challengeId = isCode && call.body.challengeId !== '' ? call.body.challengeId : await begin();
      return opened(call, await run<Session>(call, 'account.updateMfaChallenge', { challengeId, otp }));
    },
    sendChallenge: async (call) => {
      const { factor } = call.body;
      const { $id: challengeId } = await run<{ $id: string }>(call, 'account.createMfaChallenge', { factor });
      return to(call, 'second-factor', { challengeId, notice: 'sentCode' });
    },
    acceptInvitation: async (call) => {
      const { teamId, membershipId, ...proof } = call.body;
      const params = { teamId, membershipId };
      const joined = await run<object>(call, 'teams.updateMembershipStatus', proof, params);
      const success = successOf(call);
      const next = success === undefined ? to(call, 'done', { notice: 'joined' }) : new Redirect(success);
      return joined instanceof WithSession ? new WithSession(next, joined.session) : next;
    },
    signOut: async (call) => {
      if (call.actor.kind === 'user')
        await run(call, 'account.deleteSession', {}, { sessionId: 'current' }).catch((error: unknown) => {
          // It has ended meanwhile, which is what was wanted.
          if (!(error instanceof Failure && error.type === 'user_session_not_found')) throw error;
        });
      const success = successOf(call);
      return success === undefined ? to(call, 'sign-in', { notice: 'signedOut' }) : new Redirect(success);
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
  return { operations, logos };
}

/** A number as people write it, in the form of E.164. */
function dialled(phone: string): string {
  return phone.replace(/[\s()./-]/g, '').replace(/^00/, '+');
}
