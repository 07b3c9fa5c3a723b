import { z } from 'zod';
import { type Instant, wireInstant, wireInstantOrEmpty } from './shapes.js';

/** Details of the browser and its system from a user agent string, in the API and in records; empty strings if unknown. */
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

/** A session in the API and its events; a secret is only in the response that creates the session. */
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

/** Tokens of an identity provider that let the application act for a user (OAuth2). Empty texts if there are none. */
export interface ProviderTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Expiry of the access token, if the provider returns it. */
  readonly expires: Instant | null;
}

/** For a provider that has issued no tokens. */
export const noTokens: ProviderTokens = { accessToken: '', refreshToken: '', expires: null };

/** A persistent login; its secret is stored only as a digest. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly expire: Instant;
  /** Latest end allowed by the identity provider; null if it sets none. */
  readonly endsBy: Instant | null;
  /** Login method: `email`, `anonymous`, `magic-url`, … */
  readonly provider: string;
  readonly providerUid: string;
  readonly factors: readonly string[];
  /** Time of the last login or challenge that authenticated the user. */
  readonly authenticatedAt: Instant;
  /** Time of the last request with the session, to the hour. */
  readonly accessedAt: Instant;
  readonly mfaUpdatedAt: Instant | null;
  readonly ip: string;
  readonly device: Device;
  /** A login without its second factor: it can only be used to provide it. */
  readonly pending: boolean;
}
