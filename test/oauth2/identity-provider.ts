// A real identity provider: oidc-provider, a certified implementation of OpenID Connect. Its users log in without being asked.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider as OidcProvider } from 'oidc-provider';
import { after } from '../harness/runner.js';

/** Somebody who has an account with the provider. */
export interface Somebody {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
}

/** The provider, and who sits at the browser. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who logs in next. */
  user: Somebody;
  /** Seconds for which access tokens are good. */
  readonly tokenSeconds: number;
  /** Calls of its endpoints, as `METHOD /path`. */
  readonly calls: string[];
}

let people = 0;
/** Somebody whom nobody knows yet. */
export function aSomebody(given: Partial<Somebody> = {}): Somebody {
  people += 1;
  const email = `person${people}@idp.example`;
  return {
    sub: `sub-${people}-${randomBytes(3).toString('hex')}`,
    email,
    email_verified: true,
    name: `Person ${people}`,
    ...given,
  };
}

/** Starts a provider that sends browsers back to these addresses. */
export async function startIdentityProvider(redirectUris: readonly string[]): Promise<IdentityProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const clientId = 'svc';
  const clientSecret = randomBytes(24).toString('base64url');
  const accounts = new Map<string, Somebody>();
  const idp: IdentityProvider = { issuer, clientId, clientSecret, user: aSomebody(), tokenSeconds: 3600, calls: [] };
  const provider = new OidcProvider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [...redirectUris],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] },
    cookies: { keys: ['test'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ ...accounts.get(id), sub: id }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      IdToken: 3600,
      Grant: 3600,
      Interaction: 600,
      Session: 3600,
      RefreshToken: 86_400,
    },
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client?.clientId ?? '',
        accountId: ctx.oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  provider.use(async (ctx, next) => {
    idp.calls.push(`${ctx.method} ${ctx.path}`);
    if (!ctx.path.startsWith('/interaction/')) return next();
    accounts.set(idp.user.sub, idp.user);
    await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: idp.user.sub } });
    ctx.respond = false;
  });
  server.on('request', provider.callback());
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return idp;
}
