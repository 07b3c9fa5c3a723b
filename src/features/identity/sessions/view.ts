import { z } from 'zod';
import type { EventPayload } from '#src/contract/events.js';
import { deviceMembers, type Session } from '#src/contract/session.js';
import { toWireInstant, wireInstant, wireInstantOrEmpty } from '#src/contract/shapes.js';

/** A session on the wire. */
export const sessionShape = z
  .object({
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
    secret: z.string().meta({ description: 'Filled only in the answer that creates the session' }),
    mfaUpdatedAt: wireInstantOrEmpty,
  })
  .meta({ id: 'Session' });

/** Sessions on the wire. */
export const sessionListShape = z
  .object({ total: z.int(), sessions: z.array(sessionShape) })
  .meta({ id: 'SessionList' });

/** Prints a session without its secret. */
export function toSession(session: Session, currentId: string | undefined): EventPayload<'sessionCreated'> {
  const { device } = session;
  return {
    $id: session.id,
    $createdAt: toWireInstant(session.createdAt),
    $updatedAt: toWireInstant(session.updatedAt),
    userId: session.userId,
    expire: toWireInstant(session.expire),
    provider: session.provider,
    providerUid: session.providerUid,
    providerAccessToken: '',
    providerAccessTokenExpiry: '',
    providerRefreshToken: '',
    ip: session.ip,
    osCode: device.osCode,
    osName: device.osName,
    osVersion: device.osVersion,
    clientType: device.clientType,
    clientCode: device.clientCode,
    clientName: device.clientName,
    clientVersion: device.clientVersion,
    clientEngine: device.clientEngine,
    clientEngineVersion: device.clientEngineVersion,
    deviceName: device.deviceName,
    deviceBrand: device.deviceBrand,
    deviceModel: device.deviceModel,
    countryCode: '--',
    countryName: 'Unknown',
    current: session.id === currentId,
    factors: [...session.factors],
    secret: '',
    mfaUpdatedAt: toWireInstant(session.mfaUpdatedAt),
  };
}

/** Prints a session that was just made, with its secret. */
export function toNewSession(session: Session, secret: string): z.input<typeof sessionShape> {
  return { ...toSession(session, session.id), secret };
}
