import type { RawProfile } from '../../../external-logins/index.js';
import type { OAuth2Config } from '../config.js';
import { appleProfile } from './apple.js';
import { githubProfile } from './github.js';
import { type Members, members, type ProfileSource, standardClaims } from './profile.js';

export { isPrivateKey } from './apple.js';
export { standardClaims } from './profile.js';

/** A provider that is built in. What OpenID Connect says is found by discovery; the others say nothing, so it stands here. */
export interface BuiltIn {
  /** The issuer of its discovery document (OpenID Connect). */
  readonly issuer?: (config: OAuth2Config) => string;
  /** Its endpoints, and the issuer by which it may name itself in an answer (RFC 9207). */
  readonly endpoints?: { readonly issuer: string; readonly authorization: string; readonly token: string };
  readonly scopes: readonly string[];
  /** How the client proves itself; as the discovery document says where absent. */
  readonly auth?: 'basic' | 'post';
  /** What the client secret is, where it is not just a text that is sent. */
  readonly secret?: 'private key';
  /** It posts the answer as a form where an address or a name is asked for. */
  readonly isPosted?: true;
  /** Further parameters of the address that the browser opens. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Members of the configuration that it can have, and those that it must have. */
  readonly takes?: readonly string[];
  readonly needs?: readonly string[];
  /** Turns its answers at the token endpoint into those of RFC 6749 §5.1. */
  readonly tokens?: (answer: Members) => Members;
  readonly profile: (source: ProfileSource) => RawProfile | Promise<RawProfile>;
}

const first = (value: unknown): Members => members(Array.isArray(value) ? value[0] : undefined);

/** Every built-in provider by its key; each documents where the shape of its answers stands. */
export const builtIns: Readonly<Record<string, BuiltIn>> = {
  // https://developers.google.com/identity/openid-connect/openid-connect
  google: {
    issuer: () => 'https://accounts.google.com',
    scopes: ['openid', 'email', 'profile'],
    // Otherwise it issues no refresh token.
    parameters: { access_type: 'offline' },
    profile: standardClaims,
  },
  // https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
  github: {
    endpoints: {
      issuer: 'https://github.com/login/oauth',
      authorization: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token',
    },
    scopes: ['read:user', 'user:email'],
    auth: 'post',
    profile: githubProfile,
  },
  // https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference: an address is the owner's only with xms_edov; an
  // administrator of any tenant may set another one.
  microsoft: {
    issuer: ({ tenant = 'common' }) => `https://login.microsoftonline.com/${tenant}/v2.0`,
    scopes: ['openid', 'email', 'profile', 'offline_access'],
    takes: ['tenant'],
    profile: ({ claims }) => ({
      id: claims.sub,
      email: claims.email,
      emailVerified: [true, 1, '1', 'true'].includes(claims.xms_edov as string),
      name: claims.name,
    }),
  },
  // https://developer.apple.com/documentation/signinwithapplerestapi
  apple: {
    issuer: () => 'https://appleid.apple.com',
    scopes: ['openid', 'email', 'name'],
    auth: 'post',
    secret: 'private key',
    isPosted: true,
    needs: ['teamId', 'keyId'],
    profile: appleProfile,
  },
  // https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow: nothing says that an address was verified.
  facebook: {
    endpoints: {
      issuer: 'https://www.facebook.com',
      authorization: 'https://www.facebook.com/v21.0/dialog/oauth',
      token: 'https://graph.facebook.com/v21.0/oauth/access_token',
    },
    scopes: ['email', 'public_profile'],
    auth: 'post',
    profile: async ({ get }) => {
      const { id, email, name } = members(await get('https://graph.facebook.com/v21.0/me?fields=id,name,email'));
      return { id, email, name };
    },
  },
  // https://discord.com/developers/docs/resources/user
  discord: {
    endpoints: {
      issuer: 'https://discord.com',
      authorization: 'https://discord.com/oauth2/authorize',
      token: 'https://discord.com/api/oauth2/token',
    },
    scopes: ['identify', 'email'],
    auth: 'post',
    profile: async ({ get }) => {
      const user = members(await get('https://discord.com/api/v10/users/@me'));
      const name = user.global_name ?? user.username;
      return { id: user.id, email: user.email, emailVerified: user.verified, name };
    },
  },
  // https://docs.gitlab.com/integration/openid_connect_provider/, also where it is hosted elsewhere.
  gitlab: {
    issuer: ({ issuer = 'https://gitlab.com' }) => issuer,
    scopes: ['openid', 'email', 'profile'],
    takes: ['issuer'],
    profile: standardClaims,
  },
  // https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2: its ID tokens repeat no nonce, so what
  // counts is what the userinfo endpoint says.
  linkedin: {
    endpoints: {
      issuer: 'https://www.linkedin.com/oauth',
      authorization: 'https://www.linkedin.com/oauth/v2/authorization',
      token: 'https://www.linkedin.com/oauth/v2/accessToken',
    },
    scopes: ['openid', 'email', 'profile'],
    auth: 'post',
    tokens: ({ id_token: _, ...answer }) => ({ token_type: 'Bearer', ...answer }),
    profile: async ({ get }) => {
      const user = members(await get('https://api.linkedin.com/v2/userinfo'));
      return { id: user.sub, email: user.email, emailVerified: user.email_verified, name: user.name };
    },
  },
  // https://api.slack.com/authentication/sign-in-with-slack
  slack: {
    issuer: () => 'https://slack.com',
    scopes: ['openid', 'email', 'profile'],
    auth: 'post',
    profile: standardClaims,
  },
  // https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/user-access-token: the address is given only if it is confirmed.
  x: {
    endpoints: {
      issuer: 'https://x.com',
      authorization: 'https://x.com/i/oauth2/authorize',
      token: 'https://api.x.com/2/oauth2/token',
    },
    scopes: ['users.read', 'tweet.read', 'users.email', 'offline.access'],
    auth: 'basic',
    profile: async ({ get }) => {
      const { data } = members(await get('https://api.x.com/2/users/me?user.fields=confirmed_email'));
      const { id, name, confirmed_email: email } = members(data);
      return { id, email, emailVerified: true, name };
    },
  },
  // https://developer.spotify.com/documentation/web-api/reference/get-current-users-profile: "This email address is unverified".
  spotify: {
    endpoints: {
      issuer: 'https://accounts.spotify.com',
      authorization: 'https://accounts.spotify.com/authorize',
      token: 'https://accounts.spotify.com/api/token',
    },
    scopes: ['user-read-email'],
    auth: 'basic',
    profile: async ({ get }) => {
      const user = members(await get('https://api.spotify.com/v1/me'));
      return { id: user.id, email: user.email, name: user.display_name };
    },
  },
  // https://dev.twitch.tv/docs/api/reference/#get-users: the address is "the user's verified email address".
  twitch: {
    endpoints: {
      issuer: 'https://id.twitch.tv/oauth2',
      authorization: 'https://id.twitch.tv/oauth2/authorize',
      token: 'https://id.twitch.tv/oauth2/token',
    },
    scopes: ['user:read:email'],
    auth: 'post',
    tokens: ({ scope, ...answer }) => ({ ...answer, scope: Array.isArray(scope) ? scope.join(' ') : scope }),
    profile: async ({ get, config }) => {
      const { data } = members(await get('https://api.twitch.tv/helix/users', { 'client-id': config.clientId }));
      const user = first(data);
      return { id: user.id, email: user.email, emailVerified: true, name: user.display_name };
    },
  },
};
