import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { instantOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/lazy.js';
import type { Provider } from '../../providers/index.js';
import type { LoginMethod, LoginToolkit } from '../method.js';
import { addressesOf } from './addresses.js';
import { samlApi } from './api.js';
import { certificateOf, configOf, nameIdFormats, type SamlConfig } from './config.js';
import { createSamlKind } from './kind.js';
import { createOwnKeys } from './own-keys/index.js';
import { profileOf } from './profile.js';
import type { VerifiedAssertion } from './protocol/index.js';

const factor = 'saml';
const kindNames = ['saml'] as const;

type Start = Call<(typeof samlApi)['start']>;
type Complete = Call<(typeof samlApi)['complete']>;

/** Login by an identity provider that speaks SAML 2.0. Its sessions have the key of the provider as theirs. */
export const saml: LoginMethod = {
  provider: 'saml',
  login: 'login.saml',
  factor,
  alerts: true,
  providerKinds: (runtime) => [createSamlKind(runtime)],
  operations: (runtime, toolkit) => {
    const { start, complete, metadata } = createSamlLogin(runtime, toolkit);
    return implement(samlApi, { start, complete, metadata });
  },
};

function createSamlLogin(runtime: Runtime, { providers, externalLogins }: LoginToolkit) {
  const { db, log, random, clock, config: settings } = runtime;
  const protocol = lazy(() => import('./protocol/index.js'));
  const ownKeys = createOwnKeys(runtime, async (...input) => (await protocol.get()).makeOwnCertificate(...input));
  const providerOf = async (project: Project, key: string) => {
    const provider = await providers.getEnabled(db, project, key, kindNames);
    return { provider, config: configOf(provider.config) };
  };
  const ourselves = (project: Project, { key }: Provider, { nameIdFormat }: SamlConfig) => ({
    ...addressesOf(settings.baseUrl, project.id, key),
    nameIdFormat: nameIdFormats[nameIdFormat],
  });

  const start = async (call: Start): Promise<Redirect> => {
    const { project, params, query } = call;
    const { provider, config } = await providerOf(project, params.provider);
    const { loginRequestUrl } = await protocol.get();
    // SAML core §1.3.4: at least 128 random bits, and no digit in front.
    const id = `_${random.secret()}`;
    const { success, failure } = query;
    const beginning = { provider: provider.key, flow: 'session', success, failure, isPosted: true } as const;
    const relayState = await externalLogins.begin(call, { ...beginning, data: { requestId: id } });
    const { ssoUrl, signRequests } = config;
    const signingKey = signRequests ? (await ownKeys.get(call, provider)).signingKey : undefined;
    const request = { id, instant: instantOf(clock.now()), relayState, ssoUrl, signingKey };
    return new Redirect(loginRequestUrl(ourselves(project, provider, config), request));
  };
  /** The login that the response answers; one that the provider begins answers none. */
  const transactionOf = async (call: Complete) => {
    const { project, params, body } = call;
    try {
      const { data, ...transaction } = await externalLogins.resume(call, params.provider, body.RelayState);
      return { transaction, requestId: data.requestId ?? '', ...(await providerOf(project, params.provider)) };
    } catch (error) {
      if (!(error instanceof Failure) || error.type !== 'user_invalid_token') throw error;
      const { provider, config } = await providerOf(project, params.provider);
      if (!config.idpInitiated) throw error;
      const transaction = externalLogins.unsolicited(project, provider.key, config.idpInitiatedPage);
      return { transaction, requestId: null, provider, config };
    }
  };
  const verify = async (
    { project, body }: Complete,
    { provider, config, requestId }: Awaited<ReturnType<typeof transactionOf>>,
  ): Promise<VerifiedAssertion> => {
    const { verifyResponse } = await protocol.get();
    const { entityId, acsUrl } = ourselves(project, provider, config);
    const keys = await ownKeys.find(project, provider.key);
    return verifyResponse(body.SAMLResponse, {
      issuer: config.entityId,
      keys: config.certificates.flatMap((pem) => certificateOf(pem)?.publicKey ?? []),
      decryptionKey: keys?.decryptionKey,
      audience: entityId,
      destination: acsUrl,
      requestId,
      nowMs: clock.now(),
    });
  };
  /** An assertion counts once, in whatever response it comes (SAML profiles §4.1.4.5). */
  const useOnce = async (call: Complete, key: string, { id, untilMs }: VerifiedAssertion): Promise<void> => {
    const isNew = await db.work(auditContextOf(call), (unit) =>
      externalLogins.useOnce(unit, call.project, key, id, untilMs),
    );
    const { SamlRefused } = await protocol.get();
    if (!isNew) throw new SamlRefused('replayed');
  };
  const answered = async (call: Complete) => {
    const begun = await transactionOf(call);
    const assertion = await verify(call, begun);
    await useOnce(call, begun.provider.key, assertion);
    return { transaction: begun.transaction, profile: profileOf(begun.config, assertion) };
  };
  /** Leaves a record of the refused login; what exactly did not hold is no business of whoever posted it. */
  const refused = async (call: Complete, error: unknown): Promise<unknown> => {
    const { SamlRefused } = await protocol.get();
    const { project, params, request } = call;
    const isOurs = error instanceof SamlRefused;
    if (!isOurs && (!(error instanceof Failure) || error.status >= 420)) return error;
    const reason = isOurs ? error.reason : error.type;
    if (isOurs)
      log.warn('saml.failed', { project: project.id, provider: params.provider, reason, status: error.status });
    await db.work(auditContextOf(call), async (unit) => {
      const payload = { method: params.provider, email: '', ip: request.ip, reason };
      unit.record('loginFailed', { resource: 'users', payload });
    });
    if (!isOurs) return error;
    return new Failure(error.status === undefined ? 'user_saml_response_invalid' : 'user_saml_unauthorized');
  };
  const complete = async (call: Complete) => {
    const { transaction, profile } = await answered(call).catch(async (error: unknown) => {
      throw await refused(call, error);
    });
    return externalLogins.finishSession({ call, transaction, profile }, factor);
  };
  const metadata = async (call: Call<(typeof samlApi)['metadata']>): Promise<string> => {
    const { project, params } = call;
    const { provider, config } = await providerOf(project, params.provider);
    const { serviceProviderMetadata } = await protocol.get();
    const { signRequests } = config;
    const published = { ...(await ownKeys.get(call, provider)), signRequests };
    return serviceProviderMetadata(ourselves(project, provider, config), published);
  };
  return { start, complete, metadata };
}
