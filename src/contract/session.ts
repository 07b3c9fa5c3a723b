import { z } from 'zod';
import type { Instant } from './shapes.js';

/** What a user agent string tells about the browser and its system; empty strings where it tells nothing. */
export interface Device {
  readonly osCode: string;
  readonly osName: string;
  readonly osVersion: string;
  readonly clientType: string;
  readonly clientCode: string;
  readonly clientName: string;
  readonly clientVersion: string;
  readonly clientEngine: string;
  readonly clientEngineVersion: string;
  readonly deviceName: string;
  readonly deviceBrand: string;
  readonly deviceModel: string;
}

/** The same on the wire, and in what is recorded. */
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
} as const satisfies Record<keyof Device, z.ZodType>;

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
