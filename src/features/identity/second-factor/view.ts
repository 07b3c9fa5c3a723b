import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { UsableFactors } from '../factors/index.js';
import type { ChallengeRow } from './store.js';

/** Which second factors a user, or a login, can use. */
export const factorsShape = z
  .object({ totp: z.boolean(), phone: z.boolean(), email: z.boolean(), recoveryCode: z.boolean() })
  .meta({ id: 'MfaFactors' });

/** A challenge on the wire. */
export const challengeShape = z
  .object({ $id: z.string(), $createdAt: wireInstant, userId: z.string(), expire: wireInstant })
  .meta({ id: 'MfaChallenge' });

/** The enrolment of an authenticator app. */
export const enrolmentShape = z
  .object({
    secret: z.string().meta({ description: 'The seed in base32, to be typed' }),
    uri: z.string().meta({ description: 'The provisioning URI, to be shown as a QR code' }),
  })
  .meta({ id: 'MfaType' });

/** Recovery codes; only the answer that makes them can show them. */
export const recoveryCodesShape = z
  .object({
    recoveryCodes: z
      .array(z.string())
      .meta({ description: 'The codes in the answer that makes them; later as many masks as codes are left' }),
  })
  .meta({ id: 'MfaRecoveryCodes' });

/** Prints which factors can be used. */
export function toFactors({ totp, phone, email, recoverycode }: UsableFactors): z.input<typeof factorsShape> {
  return { totp, phone, email, recoveryCode: recoverycode };
}

/** Prints a challenge. */
export function toChallenge({ id, createdAt, userId, expire }: ChallengeRow): z.input<typeof challengeShape> {
  return { $id: id, $createdAt: toWireInstant(createdAt), userId, expire: toWireInstant(expire) };
}

/** Prints how many recovery codes are left: of the codes themselves only digests are kept. */
export function toMasks(left: number): z.input<typeof recoveryCodesShape> {
  return { recoveryCodes: Array.from({ length: left }, () => '****-****-****-****') };
}
