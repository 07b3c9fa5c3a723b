import type { ClientAuth, Configuration, IDToken, ServerMetadata, TokenEndpointResponse } from 'openid-client';
import { Failure } from '#src/contract/errors.js';
import { identityLimits, providerLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { ProviderTokens } from '#src/contract/session.js';
import { Lru } from '#src/platform/cache/lru.js';
import { digest } from '#src/platform/crypto/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { type ExternalProfile, toExternalProfile } from '../../../external-logins/index.js';
import type { Provider } from '../../../providers/index.js';
import { appleSecret } from '../providers/apple.js';
import { type OAuth2Config, oauth2ConfigOf } from '../providers/config.js';
import { addressIn, type BuiltIn, builtIns, standardClaims, stated } from '../providers/index.js';
import { callbackUrl } from './callback.js';
import { faultOf, providerFailure } from './errors.js';
import { createTransport, type ProviderFetch, type Transport } from './transport.js';

type Library = typeof import('openid-client');

const openid = lazy(() => import('openid-client'));

interface Deps extends Pick<Runtime, 'clock' | 'config' | 'jwt'> {
  readonly transport: Transport;
  /** Keys that providers sign ID tokens with. */
  readonly jwks: Lru<NonNullable<ReturnType<Library['getJwksCache']>>>;
}

/** Secrets of a login that are needed when the browser returns. */
interface Checks {
  readonly verifier: string;
  readonly nonce: string;
}

/** Data of a login for the URL at the provider. */
type Sent = Checks & { readonly state: string; readonly scopes: readonly string[] };

/** Parameters that a browser brings back from a provider. */
interface Returned {
  readonly code: string;
  readonly state: string;
  readonly iss?: string | undefined;
  readonly user?: string | undefined;
}

/** A provider that is ready to be called, with its client and endpoints. */
interface Prepared {
  readonly library: Library;
  readonly client: Configuration;
  readonly row: Pick<BuiltIn, 'scopes' | 'parameters' | 'isPosted' | 'profile'>;
  readonly config: OAuth2Config;
  readonly isOidc: boolean;
  readonly jwksKey: string;
}

/** A generic provider is described completely by its discovery document. */
const generic: BuiltIn = {
  issuer: ({ issuer = '' }) => issuer,
  scopes: ['openid', 'email', 'profile'],
  profile: standardClaims,
};
/** Upper limit for the lifetime of an access token as stated by a provider. */
const longestTokenSeconds = 10 * 365 * 86_400;
/** Minimum age of cached keys before the library fetches them again for an unknown key. */
const keyCooldownSeconds = 60;
const cacheBounds = { bytes: 4_194_304, entries: 500, largest: 65_536 } as const;

/** True if the provider returns the browser with a form POST. */
export function isPosted({ key, kind }: Provider): boolean {
  return kind === 'oauth2' && builtIns[key]?.isPosted === true;
}

/** The client of OAuth2 and OpenID Connect providers. */
export interface OAuth2Client {
  /** Prepares a login. Throws Failure `user_oauth2_provider_error` if the provider cannot be reached. */
  prepare(project: Project, provider: Provider): Promise<Prepared>;
  callbackOf(project: Project, key: string): string;
  /** The URL at the provider that the browser opens. */
  authorizationUrl(prepared: Prepared, redirectUri: string, sent: Sent): URL;
  /** Exchanges the code for the profile of the user. Throws Failure. */
  exchange(project: Project, provider: Provider, returned: Returned, checks: Checks): Promise<ExternalProfile>;
  /** Gets new tokens for a refresh token. Throws Failure. */
  refresh(project: Project, provider: Provider, refreshToken: string): Promise<ProviderTokens>;
}

/** Creates the OAuth2 and OpenID Connect client: a certified library whose requests go through the egress guard. */
export function createOAuth2Client(runtime: Pick<Runtime, 'egress' | 'clock' | 'config' | 'jwt'>): OAuth2Client {
  const { clock, config, jwt } = runtime;
  const deps: Deps = { clock, config, jwt, transport: createTransport(runtime), jwks: new Lru(cacheBounds) };
  return {
    prepare: (...input) => failing(prepare(deps, ...input)),
    callbackOf: (project, key) => callbackUrl(config.baseUrl, project.id, key),
    authorizationUrl,
    exchange: (...input) => failing(exchange(deps, ...input)),
    refresh: (...input) => failing(refresh(deps, ...input)),
  };
}

async function failing<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw providerFailure(error);
  }
}

async function prepare(deps: Deps, project: Project, provider: Provider): Promise<Prepared> {
  const { clock, jwt, jwks, transport } = deps;
  const { allowInsecure } = deps.config;
  const library = await openid.get();
  const config = oauth2ConfigOf(provider.config);
  const row = provider.kind === 'oidc' ? generic : builtIns[provider.key];
  if (row === undefined) throw new Failure('project_provider_disabled');
  const secret = row.secret === 'private key' ? await appleSecret(jwt, config, clock.now()) : config.clientSecret;
  const auth = authentication(library, row.auth, secret);
  const { fetch, keepDocument } = transport.begin(row.tokens);
  const client =
    row.issuer === undefined
      ? fixedClient(library, row, config, auth)
      : await discoveredClient(library, row.issuer(config), config, auth, fetch, allowInsecure);
  keepDocument();
  client[library.customFetch] = fetch;
  client.timeout = providerLimits.timeoutMs / 1000;
  if (allowInsecure) library.allowInsecureRequests(client);
  // Otherwise the library relies on TLS alone for an ID token from the token endpoint (OpenID Connect Core §3.1.3.7).
  library.enableNonRepudiationChecks(client);
  const jwksKey = `${project.id}/${provider.key}/${provider.updatedAt}`;
  const cached = jwks.get(jwksKey);
  if (cached !== undefined) library.setJwksCache(client, cached);
  return { library, client, row, config, isOidc: row.issuer !== undefined, jwksKey };
}

/** Client authentication as in the provider's entry, otherwise as in its discovery document. RFC 8414 §2 defaults to Basic. */
function authentication(
  { ClientSecretBasic, ClientSecretPost, None }: Library,
  auth: BuiltIn['auth'],
  secret: string,
): ClientAuth {
  if (secret === '') return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true;
    const chosen = (auth ?? (takesPost ? 'post' : 'basic')) === 'post' ? post : basic;
    chosen(server, client, body, headers);
  };
}

/** A client of a provider with known endpoints. */
function fixedClient(
  { Configuration }: Library,
  { endpoints }: BuiltIn,
  config: OAuth2Config,
  auth: ClientAuth,
): Configuration {
  const server: ServerMetadata = {
    issuer: endpoints?.issuer ?? '',
    ...(endpoints === undefined
      ? {}
      : { authorization_endpoint: endpoints.authorization, token_endpoint: endpoints.token }),
  };
  return new Configuration(server, config.clientId, {}, auth);
}

/** A client of a provider with a discovery document, whose issuer must be the configured one. */
async function discoveredClient(
  { allowInsecureRequests, customFetch, discovery }: Library,
  issuer: string,
  config: OAuth2Config,
  auth: ClientAuth,
  fetch: ProviderFetch,
  allowInsecure: boolean,
): Promise<Configuration> {
  const client = await discovery(new URL(issuer), config.clientId, {}, auth, {
    [customFetch]: fetch,
    timeout: providerLimits.timeoutMs / 1000,
    ...(allowInsecure ? { execute: [allowInsecureRequests] } : {}),
  });
  const said = client.serverMetadata().issuer;
  // Exact match (OpenID Connect Discovery §4.3). Microsoft's document for all tenants has a placeholder, which the library handles.
  if (said !== issuer && !said.includes('{tenantid}')) throw faultOf('the discovery document names another issuer');
  requirePage(client.serverMetadata().authorization_endpoint, allowInsecure);
  return client;
}

/** The browser is redirected to this URL, so it must be a web page. Throws Failure `user_oauth2_provider_error`. */
function requirePage(address: unknown, allowInsecure: boolean): void {
  const page = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = page?.protocol === 'https:' || (allowInsecure && page?.protocol === 'http:');
  if (!isWeb || page?.username !== '' || page.password !== '')
    throw faultOf('the discovery document names no page to log in at');
}

function authorizationUrl(
  { library, client, row, config, isOidc }: Prepared,
  redirectUri: string,
  { state, verifier, nonce, scopes }: Sent,
): URL {
  return library.buildAuthorizationUrl(client, {
    ...row.parameters,
    ...(row.isPosted ? { response_mode: 'form_post' } : {}),
    redirect_uri: redirectUri,
    scope: [...new Set([...row.scopes, ...config.scopes, ...scopes])].join(' '),
    state,
    code_challenge: digest(verifier),
    code_challenge_method: 'S256',
    ...(isOidc ? { nonce } : {}),
  });
}

async function exchange(deps: Deps, project: Project, provider: Provider, returned: Returned, checks: Checks) {
  const prepared = await prepare(deps, project, provider);
  const { library, client, row, config, isOidc } = prepared;
  const url = new URL(callbackUrl(deps.config.baseUrl, project.id, provider.key));
  for (const name of ['code', 'state', 'iss'] as const) {
    const value = returned[name];
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const answer = await library.authorizationCodeGrant(client, url, {
    pkceCodeVerifier: checks.verifier,
    expectedState: returned.state,
    ...(isOidc ? { expectedNonce: checks.nonce, idTokenExpected: true } : {}),
  });
  keepKeys(deps, prepared);
  const { access_token: accessToken } = answer;
  const claims = isOidc ? answer.claims() : undefined;
  requireOwnParty(claims, config);
  const raw = await row.profile({
    claims: isOidc ? await claimsOf(prepared, accessToken, claims) : {},
    get: (address, headers) => getJson(library, client, accessToken, address, headers),
    returned: { user: returned.user },
    config,
  });
  return toExternalProfile(raw, tokensOf(deps, answer));
}

/** Stores fetched keys as older than the cooldown, so that a new key is fetched at once. Only the provider itself sends ID tokens. */
function keepKeys({ jwks }: Deps, { library, client, jwksKey }: Prepared): void {
  const cache = library.getJwksCache(client);
  if (cache === undefined || cache.uat === jwks.get(jwksKey)?.uat) return;
  jwks.set(jwksKey, { ...cache, uat: cache.uat - keyCooldownSeconds }, JSON.stringify(cache).length);
}

/**
 * Requires that an ID token with an authorized party (`azp`) names this client (OpenID Connect Core §3.1.3.7). The library checks it only
 * if there are several audiences. Throws Failure `user_oauth2_unauthorized`.
 */
function requireOwnParty(claims: IDToken | undefined, { clientId }: OAuth2Config): void {
  if (claims?.azp !== undefined && claims.azp !== clientId)
    throw faultOf('the ID token is for another authorized party', 'user_oauth2_unauthorized');
}

/** The claims of the ID token. If they contain no address, also those of the userinfo endpoint, which must be of the same user. */
async function claimsOf({ library, client, config }: Prepared, accessToken: string, claims: IDToken | undefined) {
  const own = stated({ ...claims });
  if (claims === undefined || addressIn(own, config) !== undefined) return own;
  if (client.serverMetadata().userinfo_endpoint === undefined) return own;
  return { ...stated(await library.fetchUserInfo(client, accessToken, claims.sub)), ...own };
}

async function getJson(
  { fetchProtectedResource }: Library,
  client: Configuration,
  accessToken: string,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const sent = new Headers({ accept: 'application/json', ...headers });
  const answer = await fetchProtectedResource(client, accessToken, new URL(address), 'GET', undefined, sent);
  if (answer.status !== 200) throw faultOf(`the profile is answered ${answer.status}`);
  return answer.json();
}

function tokensOf({ clock }: Deps, answer: TokenEndpointResponse): ProviderTokens {
  const seconds = Math.min(Number(answer.expires_in), longestTokenSeconds);
  return {
    accessToken: bounded(answer.access_token),
    refreshToken: bounded(answer.refresh_token),
    expires: seconds > 0 ? instantOf(clock.now() + seconds * 1000) : null,
  };
}

function bounded(token = ''): string {
  return token.length <= identityLimits.token ? token : '';
}

async function refresh(deps: Deps, project: Project, provider: Provider, refreshToken: string) {
  const { library, client } = await prepare(deps, project, provider);
  const tokens = tokensOf(deps, await library.refreshTokenGrant(client, refreshToken));
  // If the provider issues no new refresh token, the old one remains valid (RFC 6749 §6).
  return tokens.refreshToken === '' ? { ...tokens, refreshToken } : tokens;
}
