import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { BrowserCall, Flow } from '../../external-logins/index.js';
import type { LoginMethod, LoginToolkit } from '../method/method.js';
import { oauth2Api } from './api.js';
import { createOAuth2Client, isPosted } from './client/client.js';
import { reasonOf } from './client/errors.js';
import { createTokenRefresh } from './client/refresh.js';
import { createOAuth2Kinds } from './kinds.js';

const factor = 'oauth2';
const purpose = 'oauth2-token';
const kindNames = ['oauth2', 'oidc'] as const;
/** Error codes for a login cancelled by the user: RFC 6749 §4.1.2.1, and those of Apple and LinkedIn. */
const cancelled = ['access_denied', 'user_cancelled_login', 'user_cancelled_authorize'];

type Start = Call<(typeof oauth2Api)['startSession' | 'startToken']>;
type Returned = Call<(typeof oauth2Api)['callback']>['query'];

/** Login with an identity provider that supports OAuth2 or OpenID Connect. The `provider` of its sessions is the provider's key. */
export const oauth2: LoginMethod = {
  provider: 'oauth2',
  // `callback` is a path segment of the callbacks, in the position of a provider's key in other paths.
  reserved: ['oidc', 'callback'],
  login: 'login.oauth2',
  factor,
  alerts: true,
  secret: { purpose, ofIdentity: true },
  providerKinds: createOAuth2Kinds,
  operations: (runtime, toolkit) => {
    const { start, complete } = createOAuth2Login(runtime, toolkit);
    return implement(oauth2Api, {
      startSession: (call) => start(call, 'session'),
      startToken: (call) => start(call, 'token'),
      callback: (call) => complete(call, call.params.provider, call.query),
      postedCallback: (call) => complete(call, call.params.provider, call.body),
    });
  },
};

function createOAuth2Login(runtime: Runtime, { providers, identities, externalLogins, beforeExtension }: LoginToolkit) {
  const { db, log, random } = runtime;
  const client = createOAuth2Client(runtime);
  const reported = async <T>(project: Project, key: string, act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      const isTheirs = error instanceof Failure && error.cause !== undefined;
      if (isTheirs)
        log.warn('oauth2.failed', { project: project.id, provider: key, error: error.type, reason: reasonOf(error) });
      throw error;
    }
  };
  beforeExtension(createTokenRefresh(runtime, { client, providers, identities, kindNames, reported }));
  const providerOf = (project: Project, key: string) => providers.getEnabled(db, project, key, kindNames);

  const start = async (call: Start, flow: Flow): Promise<Redirect> => {
    const { project, params, query } = call;
    const provider = await providerOf(project, params.provider);
    const prepared = await reported(project, provider.key, () => client.prepare(project, provider));
    const checks = { verifier: random.secret(), nonce: random.secret() };
    const { success, failure, scopes } = query;
    const beginning = { provider: provider.key, flow, success, failure, data: checks, isPosted: isPosted(provider) };
    const state = await externalLogins.begin(call, beginning);
    const redirectUri = client.callbackOf(project, provider.key);
    return new Redirect(client.authorizationUrl(prepared, redirectUri, { ...checks, state, scopes }));
  };
  /** Records a login refused by the provider, or because of the data it has sent. */
  const recordRefused = (call: BrowserCall, method: string, error: unknown): Promise<void> | undefined => {
    if (!(error instanceof Failure) || error.status >= 420) return undefined;
    return db.work(auditContextOf(call), async (unit) => {
      const payload = { method, email: '', ip: call.request.ip, reason: error.type };
      unit.record('loginFailed', { resource: 'users', payload });
    });
  };
  const profileOf = async (call: BrowserCall, key: string, fields: Returned) => {
    const { state = '', code, error, iss, user } = fields;
    const { data, ...transaction } = await externalLogins.resume(call, key, state);
    const provider = await providerOf(call.project, key);
    if (error !== undefined)
      throw new Failure(cancelled.includes(error) ? 'user_oauth2_unauthorized' : 'user_oauth2_bad_request');
    if (code === undefined || code === '') throw new Failure('user_oauth2_bad_request');
    const checks = { verifier: data.verifier ?? '', nonce: data.nonce ?? '' };
    const profile = await reported(call.project, key, () =>
      client.exchange(call.project, provider, { code, state, iss, user }, checks),
    );
    return { transaction: { ...transaction, data }, profile };
  };
  const complete = async (call: BrowserCall, key: string, fields: Returned) => {
    const { transaction, profile } = await profileOf(call, key, fields).catch(async (error: unknown) => {
      await recordRefused(call, key, error);
      throw error;
    });
    return externalLogins.finish({ call, transaction, profile }, { factor, purpose });
  };
  return { start, complete };
}
