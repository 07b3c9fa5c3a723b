import type { RawProfile } from '../../../external-logins/index.js';
import type { OAuth2Config } from '../config.js';

/** Members of an answer or a token. */
export type Members = Readonly<Record<string, unknown>>;

/** Where a profile is read from. */
export interface ProfileSource {
  /** The claims of the ID token and of the userinfo endpoint (OpenID Connect); empty otherwise. */
  readonly claims: Members;
  /** Reads JSON from the provider in the name of the user. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<unknown>;
  /** What the browser has brought back. */
  readonly returned: Readonly<Record<string, string | undefined>>;
  readonly config: OAuth2Config;
}

/** The members of an object; none of anything else. */
export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

/** The standard claims (OpenID Connect Core §5.1). */
export function standardClaims({ claims }: ProfileSource): RawProfile {
  return { id: claims.sub, email: claims.email, emailVerified: claims.email_verified, name: claims.name };
}
