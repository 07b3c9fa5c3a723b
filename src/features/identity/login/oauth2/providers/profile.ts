import type { RawProfile } from '../../../external-logins/index.js';
import type { OAuth2Config } from './config.js';

/** Members of a response or a token. */
export type Members = Readonly<Record<string, unknown>>;

/** Sources of a profile. */
export interface ProfileSource {
  /** The claims of the ID token and of the userinfo endpoint (OpenID Connect); empty otherwise. */
  readonly claims: Members;
  /** Reads JSON from the provider with the user's access token. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<unknown>;
  /** Parameters that the browser has brought back. */
  readonly returned: Readonly<Record<string, string | undefined>>;
  readonly config: OAuth2Config;
}

/** The members of an object; empty for any other value. */
export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

/** Drops empty members: some providers send null or an empty text for unknown values. */
export function stated(all: Members): Members {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== ''));
}

/** The claim with the email address, or with a list of addresses. */
export function addressIn(claims: Members, { emailClaim }: OAuth2Config): unknown {
  return emailClaim === undefined ? (claims.email ?? claims.emails) : claims[emailClaim];
}

/**
 * Profile from the standard claims (OpenID Connect Core §5.1) or those named in the configuration. Some providers send a list `emails`
 * instead of `email`. `email_verified` does not apply to an address in another claim.
 */
export function standardClaims({ claims, config }: ProfileSource): RawProfile {
  const { emailClaim, emailVerifiedClaim, nameClaim = 'name' } = config;
  const { given_name, family_name } = claims;
  const parts = [given_name, family_name].filter((part) => typeof part === 'string' && part !== '').join(' ');
  const name = claims[nameClaim];
  const address = addressIn(claims, config);
  const isStandard = emailClaim === undefined && claims.email !== undefined;
  return {
    id: claims.sub,
    email: Array.isArray(address) ? address[0] : address,
    emailVerified: claims[emailVerifiedClaim ?? (isStandard ? 'email_verified' : '')],
    name: typeof name === 'string' && name.trim() !== '' ? name : parts,
  };
}
