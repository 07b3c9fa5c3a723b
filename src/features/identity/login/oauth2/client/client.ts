import type { ClientAuth, Configuration, IDToken, ServerMetadata, TokenEndpointResponse } from 'openid-client';
import { Failure } from '#src/contract/errors.js';
import { identityLimits, providerLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { ProviderTokens } from '#src/contract/session.js';
import { instantOf } from '#src/platform/clock.js';
import { digest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/lazy.js';
import { Lru } from '#src/platform/lru.js';
import { type ExternalProfile, toExternalProfile } from '../../../external-logins/index.js';
import type { Provider } from '../../../providers/index.js';
import { callbackUrl } from '../callback.js';
import { configOf, type OAuth2Config } from '../config.js';
import { appleSecret } from '../providers/apple.js';
import { type BuiltIn, builtIns, standardClaims } from '../providers/index.js';
import { providerFailure } from './errors.js';
import { createTransport, type ProviderFetch } from './transport.js';

type Library = typeof import('openid-client');
type Deps = Pick<Runtime, 'egress' | 'clock' | 'config' | 'jwt'>;

/** What a login has to remember until it comes back. */
interface Checks {
  readonly verifier: string;
  readonly nonce: string;
}

/** What a browser brings back from a provider. */
interface Returned {
  readonly code: string;
  readonly state: string;
  readonly iss?: string | undefined;
  readonly user?: string | undefined;
}

/** A provider that is ready to be called: what it speaks, and as whom. */
interface Prepared {
  readonly library: Library;
  readonly client: Configuration;
  readonly row: Pick<BuiltIn, 'scopes' | 'parameters' | 'isPosted' | 'profile'>;
  readonly config: OAuth2Config;
  readonly isOidc: boolean;
  readonly jwksKey: string;
}

/** A generic provider says everything by its discovery document. */
const generic: BuiltIn = {
  issuer: ({ issuer = '' }) => issuer,
  scopes: ['openid', 'email', 'profile'],
  profile: standardClaims,
};
/** The longest that an access token is believed to live. */
const longestTokenSeconds = 10 * 365 * 86_400;
const cacheBounds = { bytes: 4_194_304, entries: 500, largest: 65_536 } as const;

/** Whether the provider sends the browser back with a form. */
export function isPosted({ key, kind }: Provider): boolean {
  return kind === 'oauth2' && builtIns[key]?.isPosted === true;
}

/** Speaks OAuth2 and OpenID Connect with identity providers, by a certified library over the guarded way out. */
export function createOAuth2Client(runtime: Deps) {
  const { clock, config: settings, jwt } = runtime;
  const library = lazy(() => import('openid-client'));
  const transport = createTransport(runtime);
  /** The keys by which providers sign ID tokens; the library asks again for one that it does not know. */
  const jwks = new Lru<NonNullable<ReturnType<Library['getJwksCache']>>>(cacheBounds);

  const callbackOf = (project: Project, key: string): string => callbackUrl(settings.baseUrl, project.id, key);
  /** As the provider's row says, else as its discovery document; where that does not, RFC 8414 §2 means Basic. */
  const authentication = (
    { ClientSecretBasic, ClientSecretPost, None }: Library,
    auth: BuiltIn['auth'],
    secret: string,
  ): ClientAuth => {
    if (secret === '') return None();
    const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
    return (server, client, body, headers) => {
      const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true;
      const chosen = (auth ?? (takesPost ? 'post' : 'basic')) === 'post' ? post : basic;
      chosen(server, client, body, headers);
    };
  };
  const prepare = async (project: Project, provider: Provider): Promise<Prepared> => {
    const loaded = await library.get();
    const config = configOf(provider.config);
    const row = provider.kind === 'oidc' ? generic : builtIns[provider.key];
    if (row === undefined) throw new Failure('project_provider_disabled');
    const secret = row.secret === 'private key' ? await appleSecret(jwt, config, clock.now()) : config.clientSecret;
    const auth = authentication(loaded, row.auth, secret);
    const { fetch, keepDocument } = transport.begin(row.endpoints?.token, row.tokens);
    const client =
      row.issuer === undefined
        ? fixedClient(loaded, row, config, auth)
        : await discoveredClient(loaded, row.issuer(config), config, auth, fetch, settings.allowInsecure);
    keepDocument();
    client[loaded.customFetch] = fetch;
    client.timeout = providerLimits.timeoutMs / 1000;
    if (settings.allowInsecure) loaded.allowInsecureRequests(client);
    // The library trusts TLS alone for an ID token from the token endpoint otherwise (OpenID Connect Core §3.1.3.7).
    loaded.enableNonRepudiationChecks(client);
    const jwksKey = `${project.id}/${provider.key}/${provider.updatedAt}`;
    const cached = jwks.get(jwksKey);
    if (cached !== undefined) loaded.setJwksCache(client, cached);
    return { library: loaded, client, row, config, isOidc: row.issuer !== undefined, jwksKey };
  };
  const keepKeys = ({ library: loaded, client, jwksKey }: Prepared): void => {
    const cache = loaded.getJwksCache(client);
    if (cache !== undefined) jwks.set(jwksKey, cache, JSON.stringify(cache).length);
  };
  const tokensOf = (answer: TokenEndpointResponse): ProviderTokens => {
    const bounded = (token: string | undefined) =>
      token !== undefined && token.length <= identityLimits.token ? token : '';
    const seconds = Math.min(Number(answer.expires_in), longestTokenSeconds);
    return {
      accessToken: bounded(answer.access_token),
      refreshToken: bounded(answer.refresh_token),
      expires: seconds > 0 ? instantOf(clock.now() + seconds * 1000) : null,
    };
  };
  /** The claims of the ID token, and where it says no address those of the userinfo endpoint, which must be of the same user. */
  const claimsOf = async ({ library: loaded, client }: Prepared, accessToken: string, claims: IDToken | undefined) => {
    if (claims === undefined || claims.email !== undefined) return { ...claims };
    if (client.serverMetadata().userinfo_endpoint === undefined) return { ...claims };
    return { ...(await loaded.fetchUserInfo(client, accessToken, claims.sub)), ...claims };
  };
  const failing = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw providerFailure(error);
    }
  };

  return {
    /** Gets ready for a login. Throws Failure `user_oauth2_provider_error` where the provider cannot be reached. */
    prepare: (project: Project, provider: Provider) => failing(() => prepare(project, provider)),
    callbackOf,
    /** The address that the browser opens at the provider. */
    authorizationUrl: (
      { library: loaded, client, row, config, isOidc }: Prepared,
      redirectUri: string,
      { state, verifier, nonce, scopes }: Checks & { readonly state: string; readonly scopes: readonly string[] },
    ): URL =>
      loaded.buildAuthorizationUrl(client, {
        ...row.parameters,
        ...(row.isPosted ? { response_mode: 'form_post' } : {}),
        redirect_uri: redirectUri,
        scope: [...new Set([...row.scopes, ...config.scopes, ...scopes])].join(' '),
        state,
        code_challenge: digest(verifier),
        code_challenge_method: 'S256',
        ...(isOidc ? { nonce } : {}),
      }),
    /** What the provider says of who has logged in. Throws Failure. */
    exchange: (
      project: Project,
      provider: Provider,
      returned: Returned,
      { verifier, nonce }: Checks,
    ): Promise<ExternalProfile> =>
      failing(async () => {
        const prepared = await prepare(project, provider);
        const { library: loaded, client, row, config, isOidc } = prepared;
        const url = new URL(callbackOf(project, provider.key));
        for (const name of ['code', 'state', 'iss'] as const) {
          const value = returned[name];
          if (value !== undefined) url.searchParams.set(name, value);
        }
        const checks = { pkceCodeVerifier: verifier, expectedState: returned.state };
        const answer = await loaded.authorizationCodeGrant(
          client,
          url,
          isOidc ? { ...checks, expectedNonce: nonce, idTokenExpected: true } : checks,
        );
        keepKeys(prepared);
        const { access_token: accessToken } = answer;
        const claims = isOidc ? answer.claims() : undefined;
        demandOwnParty(claims, config);
        const raw = await row.profile({
          claims: isOidc ? await claimsOf(prepared, accessToken, claims) : {},
          get: (address, headers) => getJson(loaded, client, accessToken, address, headers),
          returned: { user: returned.user },
          config,
        });
        return toExternalProfile(raw, tokensOf(answer));
      }),
    /** Fresh tokens for a refresh token. Throws Failure. */
    refresh: (project: Project, provider: Provider, refreshToken: string): Promise<ProviderTokens> =>
      failing(async () => {
        const { library: loaded, client } = await prepare(project, provider);
        const tokens = tokensOf(await loaded.refreshTokenGrant(client, refreshToken));
        // A provider that issues no other refresh token means the same one (RFC 6749 §6).
        return tokens.refreshToken === '' ? { ...tokens, refreshToken } : tokens;
      }),
  };
}

/** A client of a provider whose endpoints are known. */
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

/** A client of a provider that describes itself; the issuer of the document must be the configured one. */
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
  // Byte for byte (OpenID Connect Discovery §4.3); Microsoft's document for all tenants has a placeholder, which the library knows.
  if (said !== issuer && !said.includes('{tenantid}')) throw new Failure('user_oauth2_provider_error');
  demandPage(client.serverMetadata().authorization_endpoint, allowInsecure);
  return client;
}

/**
 * An ID token that names the party it was issued to must name this client (OpenID Connect Core §3.1.3.7); the library looks at it only where there
 * are several audiences. Throws Failure `user_oauth2_unauthorized`.
 */
function demandOwnParty(claims: IDToken | undefined, { clientId }: OAuth2Config): void {
  if (claims?.azp !== undefined && claims.azp !== clientId)
    throw new Failure('user_oauth2_unauthorized', { cause: new Error('another authorized party') });
}

/** The browser is sent there, so it must be a page of the web. Throws Failure `user_oauth2_provider_error`. */
function demandPage(address: unknown, allowInsecure: boolean): void {
  const page = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = page?.protocol === 'https:' || (allowInsecure && page?.protocol === 'http:');
  if (!isWeb || page?.username !== '' || page.password !== '')
    throw new Failure('user_oauth2_provider_error', { cause: new Error('no page to log in at') });
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
  if (answer.status !== 200) throw new Failure('user_oauth2_provider_error');
  return answer.json();
}
