import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { UsableFactors } from '../factors/index.js';
import type { ChallengeRow } from './store.js';

/** The second factors that a user or a login can use. */
export const factorsShape = z
  .object({ totp: z.boolean(), phone: z.boolean(), email: z.boolean(), recoveryCode: z.boolean() })
  .meta({ id: 'MfaFactors' });

/** A challenge on the wire. */
export const challengeShape = z
  .object({ $id: z.string(), $createdAt: wireInstant, userId: z.string(), expire: wireInstant })
  .meta({ id: 'MfaChallenge' });

/** Data for enrolling an authenticator app. */
export const enrolmentShape = z
  .object({
    secret: z.string().meta({ description: 'The seed in base32, to be typed' }),
    uri: z.string().meta({ description: 'The provisioning URI, to be shown as a QR code' }),
  })
  .meta({ id: 'MfaType' });

/** Recovery codes. Only the response that creates them contains the codes themselves. */
export const recoveryCodesShape = z
  .object({
    recoveryCodes: z
      .array(z.string())
      .meta({ description: 'The codes in the answer that makes them; later as many masks as codes are left' }),
  })
  .meta({ id: 'MfaRecoveryCodes' });

/** Renders the usable factors for the wire. */
export function toFactors({ totp, phone, email, recoverycode }: UsableFactors): z.input<typeof factorsShape> {
  return { totp, phone, email, recoveryCode: recoverycode };
}

/** Renders a challenge for the wire. */
export function toChallenge({ id, createdAt, userId, expire }: ChallengeRow): z.input<typeof challengeShape> {
  return { $id: id, $createdAt: toWireInstant(createdAt), userId, expire: toWireInstant(expire) };
}

/** Renders the number of unused recovery codes as masks: only digests of the codes are stored. */
export function toMasks(left: number): z.input<typeof recoveryCodesShape> {
  return { recoveryCodes: Array.from({ length: left }, () => '****-****-****-****') };
}
