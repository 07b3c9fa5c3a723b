import { z } from 'zod';
import type { Instant } from './shapes.js';

/**
 * The settings of a project, with their defaults; `svc project update ID --set key=value` changes them and docs/settings.md lists them.
 * A value of null means "as the installation's configuration says".
 */
export const projectSettings = z.object({
  'session.days': z
    .int()
    .min(1)
    .max(365)
    .nullable()
    .default(null)
    .describe('Days a session lives; null: SVC_SESSION_DAYS'),
  'session.maxDays': z
    .int()
    .min(1)
    .max(3650)
    .default(365)
    .describe('Days after its beginning at which a session ends, however often it is extended'),
  'session.idleDays': z
    .int()
    .min(1)
    .max(365)
    .nullable()
    .default(null)
    .describe('Days without use after which a session ends; null: SVC_SESSION_IDLE_DAYS'),
  'session.limit': z.int().min(1).max(100).default(10).describe('Sessions a user may have; one more ends the oldest'),
  'session.alerts': z
    .boolean()
    .default(false)
    .describe('Tell users by mail of logins from a browser or system that they have not used for 30 days'),
  'cookie.sameSite': z
    .enum(['lax', 'none'])
    .default('lax')
    .describe('SameSite of the session cookie; none only over https, and then Origin is checked on every request'),
  'passkeys.rpId': z
    .string()
    .max(253)
    .regex(
      /^(?=.*[a-z])[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
      'must be a domain name in lower case',
    )
    .nullable()
    .default(null)
    .describe(
      'Domain that passkeys belong to: the host of every page that uses them, or a parent of it; null: that of SVC_BASE_URL',
    ),
  'passkeys.userVerification': z
    .enum(['required', 'preferred'])
    .default('required')
    .describe('Whether a passkey has to verify its user, by PIN or biometrics, to log in without a second factor'),
  'signup.hideExisting': z
    .boolean()
    .default(false)
    .describe(
      'Answer a sign-up with a taken address like a successful one instead of 409, and tell the address by mail',
    ),
  'teams.hideMembers': z
    .boolean()
    .default(false)
    .describe('Show the e-mail address, phone number and second factor of members to owners only'),
});

/** Settings of a project with every default filled in. */
export type ProjectSettings = z.output<typeof projectSettings>;

/** A tenant of the installation: its own users, keys, platforms and settings. */
export interface Project {
  readonly id: string;
  readonly name: string;
  readonly settings: ProjectSettings;
  /** The project's data key, wrapped by the master key; see `platform/sealing.ts`. */
  readonly dataKey: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** Hostnames whose pages may call the service with cookies; `*.example.com` allowed. */
  readonly hostnames: readonly string[];
}
