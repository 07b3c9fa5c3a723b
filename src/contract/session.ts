import { z } from 'zod';
import { type Instant, wireInstant, wireInstantOrEmpty } from './shapes.js';

/** What a user agent string tells about the browser and its system, on the wire and in what is recorded; empty strings where it tells nothing. */
export const deviceMembers = {
  osCode: z.string(),
  osName: z.string(),
  osVersion: z.string(),
  clientType: z.string(),
  clientCode: z.string(),
  clientName: z.string(),
  clientVersion: z.string(),
  clientEngine: z.string(),
  clientEngineVersion: z.string(),
  deviceName: z.string(),
  deviceBrand: z.string(),
  deviceModel: z.string(),
} as const;

/** The same as values. */
export type Device = Readonly<Record<keyof typeof deviceMembers, string>>;

/** A session as the wire and its events show it; a secret is only in the response that creates the session. */
export const sessionMembers = {
  $id: z.string(),
  $createdAt: wireInstant,
  $updatedAt: wireInstant,
  userId: z.string(),
  expire: wireInstant,
  provider: z.string(),
  providerUid: z.string(),
  providerAccessToken: z.string(),
  providerAccessTokenExpiry: z.string(),
  providerRefreshToken: z.string(),
  ip: z.string(),
  ...deviceMembers,
  countryCode: z.string(),
  countryName: z.string(),
  current: z.boolean(),
  factors: z.array(z.string()),
  secret: z.string(),
  mfaUpdatedAt: wireInstantOrEmpty,
} as const;

/** What an identity provider lets the application do in the name of a user (OAuth2). Empty texts where there is nothing. */
export interface ProviderTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** When the access token ends, where the provider says so. */
  readonly expires: Instant | null;
}

/** Stands where a provider has issued nothing. */
export const noTokens: ProviderTokens = { accessToken: '', refreshToken: '', expires: null };

/** A login that lasts; its secret is stored as a digest only. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly expire: Instant;
  /** How the user came in: `email`, `anonymous`, `magic-url`, … */
  readonly provider: string;
  readonly providerUid: string;
  readonly factors: readonly string[];
  /** When a login or a challenge last proved who this is. */
  readonly authenticatedAt: Instant;
  /** When a request last used it, to the hour. */
  readonly accessedAt: Instant;
  readonly mfaUpdatedAt: Instant | null;
  readonly ip: string;
  readonly device: Device;
  /** A login that lacks the second factor: good for giving it, and for nothing else. */
  readonly pending: boolean;
}
