import { type HtmlPage, Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import type { Provider } from '../../providers/index.js';
import type { LoginMethod, LoginToolkit } from '../method/method.js';
import { addressesOf } from './addresses.js';
import { samlApi } from './api.js';
import { certificateOf, nameIdFormats, type SamlConfig, samlConfigOf } from './config.js';
import { createSamlKind } from './kind.js';
import { createOwnKeys, type OwnKeysService } from './own-keys/index.js';
import { profileOf } from './profile.js';
import type { SamlVerifier, VerifiedAssertion } from './protocol/index.js';

const factor = 'saml';
const kindNames = ['saml'] as const;

const protocol = lazy(() => import('./protocol/index.js'));

interface Deps extends Runtime, LoginToolkit {
  readonly verifier: ReturnType<typeof lazy<SamlVerifier>>;
  readonly ownKeys: OwnKeysService;
}

type Start = Call<(typeof samlApi)['start']>;
type Complete = Call<(typeof samlApi)['complete']>;

/** Login with an identity provider that supports SAML 2.0. The `provider` of its sessions is the provider's key. */
export const saml: LoginMethod = {
  provider: 'saml',
  login: 'login.saml',
  factor,
  alerts: true,
  providerKinds: (runtime) => [createSamlKind(runtime)],
  operations: createSamlLogin,
};

function createSamlLogin(runtime: Runtime, toolkit: LoginToolkit) {
  const deps: Deps = {
    ...runtime,
    ...toolkit,
    verifier: lazy(async () => (await protocol.get()).createSamlVerifier()),
    ownKeys: createOwnKeys(runtime, async (...input) => (await protocol.get()).makeOwnCertificate(...input)),
  };
  return implement(samlApi, bind(deps, { start, complete, metadata }));
}

async function start(deps: Deps, call: Start): Promise<Redirect | HtmlPage> {
  const { pages, random, clock, externalLogins, ownKeys } = deps;
  const { project, params, query } = call;
  const { provider, config } = await providerOf(deps, project, params.provider);
  const { loginRequestFields, loginRequestUrl } = await protocol.get();
  // SAML core §1.3.4: at least 128 random bits, and no leading digit.
  const id = `_${random.secret()}`;
  const { success, failure } = query;
  const beginning = { provider: provider.key, flow: 'session', success, failure, isPosted: true } as const;
  const relayState = await externalLogins.begin(call, { ...beginning, data: { requestId: id } });
  const { ssoUrl, ssoBinding, signRequests } = config;
  const signingKey = signRequests ? (await ownKeys.get(call, provider)).signingKey : undefined;
  const request = { id, instant: instantOf(clock.now()), relayState, ssoUrl, signingKey };
  const us = ourselves(deps, project, provider, config);
  if (ssoBinding === 'redirect') return new Redirect(loginRequestUrl(us, request));
  // Browsers check form targets across redirects too, and a provider may spread its login over several hosts.
  const formTargets = [new URL(ssoUrl).origin, 'https:'];
  return pages.render('saml-request', { action: ssoUrl, ...loginRequestFields(us, request) }, { formTargets });
}

async function providerOf({ db, providers }: Deps, project: Project, key: string) {
  const provider = await providers.getEnabled(db, project, key, kindNames);
  return { provider, config: samlConfigOf(provider.config) };
}

function ourselves(deps: Deps, project: Project, { key }: Provider, { nameIdFormat }: SamlConfig) {
  return { ...addressesOf(deps.config.baseUrl, project.id, key), nameIdFormat: nameIdFormats[nameIdFormat] };
}

async function complete(deps: Deps, call: Complete) {
  const { transaction, profile, endsBy } = await answered(deps, call).catch(async (error: unknown) => {
    throw await refused(deps, call, error);
  });
  return deps.externalLogins.finishSession({ call, transaction, profile, endsBy }, factor);
}

async function answered(deps: Deps, call: Complete) {
  const begun = await transactionOf(deps, call);
  const assertion = await verify(deps, call, begun);
  await useOnce(deps, call, begun.provider.key, assertion);
  const { sessionEndMs } = assertion;
  const endsBy = sessionEndMs === undefined ? null : instantOf(sessionEndMs);
  return { transaction: begun.transaction, profile: profileOf(begun.config, assertion), endsBy };
}

/** The login that the response belongs to. A login that the provider begins belongs to none. */
async function transactionOf(deps: Deps, call: Complete) {
  const { externalLogins } = deps;
  const { project, params, body } = call;
  try {
    const { data, ...transaction } = await externalLogins.resume(call, params.provider, body.RelayState);
    return { transaction, requestId: data.requestId ?? '', ...(await providerOf(deps, project, params.provider)) };
  } catch (error) {
    if (!(error instanceof Failure) || error.type !== 'user_invalid_token') throw error;
    const { provider, config } = await providerOf(deps, project, params.provider);
    if (!config.idpInitiated) throw error;
    const transaction = externalLogins.unsolicited(project, provider.key, config.idpInitiatedPage);
    return { transaction, requestId: null, provider, config };
  }
}

async function verify(
  deps: Deps,
  { project, body, request }: Complete,
  { provider, config, requestId }: Awaited<ReturnType<typeof transactionOf>>,
): Promise<VerifiedAssertion> {
  const verifyResponse = await deps.verifier.get();
  const { entityId, acsUrl } = ourselves(deps, project, provider, config);
  const keys = await deps.ownKeys.find(project, provider.key);
  return verifyResponse(request.ip, body.SAMLResponse, {
    issuer: config.entityId,
    keys: config.certificates.flatMap((pem) => certificateOf(pem)?.publicKey ?? []),
    decryptionKey: keys?.decryptionKey,
    audience: entityId,
    destination: acsUrl,
    requestId,
    nowMs: deps.clock.now(),
  });
}

/** An assertion is valid only once, in whatever response it comes (SAML profiles §4.1.4.5). */
async function useOnce(deps: Deps, call: Complete, key: string, { id, untilMs }: VerifiedAssertion): Promise<void> {
  const isNew = await deps.db.work(auditContextOf(call), (unit) =>
    deps.externalLogins.useOnce(unit, call.project, key, id, untilMs),
  );
  const { SamlRefused } = await protocol.get();
  if (!isNew) throw new SamlRefused('replayed');
}

/** Records the refused login. The response does not contain the reason. */
async function refused({ db, log }: Deps, call: Complete, error: unknown): Promise<unknown> {
  const { SamlRefused } = await protocol.get();
  const { project, params, request } = call;
  const isOurs = error instanceof SamlRefused;
  if (!isOurs && (!(error instanceof Failure) || error.status >= 420)) return error;
  const reason = isOurs ? error.reason : error.type;
  if (isOurs) log.warn('saml.failed', { project: project.id, provider: params.provider, reason, status: error.status });
  await db.work(auditContextOf(call), async (unit) => {
    const payload = { method: params.provider, email: '', ip: request.ip, reason };
    unit.record('loginFailed', { resource: 'users', payload });
  });
  if (!isOurs) return error;
  return new Failure(error.status === undefined ? 'user_saml_response_invalid' : 'user_saml_unauthorized');
}

async function metadata(deps: Deps, call: Call<(typeof samlApi)['metadata']>): Promise<string> {
  const { project, params } = call;
  const { provider, config } = await providerOf(deps, project, params.provider);
  const { serviceProviderMetadata } = await protocol.get();
  const published = { ...(await deps.ownKeys.get(call, provider)), signRequests: config.signRequests };
  return serviceProviderMetadata(ourselves(deps, project, provider, config), published);
}
