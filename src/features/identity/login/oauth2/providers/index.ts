import type { RawProfile } from '../../../external-logins/index.js';
import { appleProfile } from './apple.js';
import type { OAuth2Config } from './config.js';
import { type Members, members, type ProfileSource, standardClaims } from './profile.js';

export { isPrivateKey } from './apple.js';
export { addressIn, standardClaims, stated } from './profile.js';

/** A built-in provider. OpenID Connect providers are described by discovery; the others are described here. */
export interface BuiltIn {
  /** The issuer of its discovery document (OpenID Connect). */
  readonly issuer?: (config: OAuth2Config) => string;
  /** Its endpoints, and the issuer it may send with the authorization response (RFC 9207). */
  readonly endpoints?: { readonly issuer: string; readonly authorization: string; readonly token: string };
  readonly scopes: readonly string[];
  /** Client authentication method; as in the discovery document if absent. */
  readonly auth?: 'basic' | 'post';
  /** Kind of the client secret, if it is not sent as plain text. */
  readonly secret?: 'private key';
  /** The provider returns the browser with a form POST if the scopes include an address or a name. */
  readonly isPosted?: true;
  /** Additional parameters of the authorization URL. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Members that its configuration may have (`takes`) and must have (`needs`). */
  readonly takes?: readonly string[];
  readonly needs?: readonly string[];
  /** Corrects its token responses. */
  readonly tokens?: (answer: Members) => Members;
  readonly profile: (source: ProfileSource) => RawProfile | Promise<RawProfile>;
}

/**
 * Profile of a GitHub user. The address in the profile may be any that the user chose to show; the list contains the primary address and
 * its verification status.
 */
async function githubProfile({ get }: ProfileSource): Promise<RawProfile> {
  const headers = { accept: 'application/vnd.github+json' };
  const { id, login, name } = members(await get('https://api.github.com/user', headers));
  const emails = await get('https://api.github.com/user/emails', headers);
  const primary = (Array.isArray(emails) ? emails : []).map(members).find((one) => one.primary === true);
  return { id, email: primary?.email, emailVerified: primary?.verified, name: name ?? login };
}

/** All built-in providers by key, each with a link to the documentation of its responses. */
export const builtIns: Readonly<Record<string, BuiltIn>> = {
  // https://developers.google.com/identity/openid-connect/openid-connect
  google: {
    issuer: () => 'https://accounts.google.com',
    scopes: ['openid', 'email', 'profile'],
    // Required to get a refresh token.
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
  // https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference: the user owns the address only if `xms_edov` is set,
  // because an administrator of any tenant may set any address.
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
  // https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow: no response states that an address was verified.
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
  // https://docs.gitlab.com/integration/openid_connect_provider/, also for self-hosted instances.
  gitlab: {
    issuer: ({ issuer = 'https://gitlab.com' }) => issuer,
    scopes: ['openid', 'email', 'profile'],
    takes: ['issuer'],
    profile: standardClaims,
  },
  // https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2: its ID tokens contain no nonce, so the
  // profile is read from the userinfo endpoint.
  linkedin: {
    endpoints: {
      issuer: 'https://www.linkedin.com/oauth',
      authorization: 'https://www.linkedin.com/oauth/v2/authorization',
      token: 'https://www.linkedin.com/oauth/v2/accessToken',
    },
    scopes: ['openid', 'email', 'profile'],
    auth: 'post',
    tokens: ({ id_token: _, ...answer }) => answer,
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
  // https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/user-access-token: returns only confirmed addresses.
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
    profile: async ({ get, config }) => {
      const { data } = members(await get('https://api.twitch.tv/helix/users', { 'client-id': config.clientId }));
      const user = members(Array.isArray(data) ? data[0] : undefined);
      return { id: user.id, email: user.email, emailVerified: true, name: user.display_name };
    },
  },
};
