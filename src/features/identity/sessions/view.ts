import { z } from 'zod';
import type { EventPayload } from '#src/contract/events.js';
import { noTokens, type ProviderTokens, type Session, sessionMembers } from '#src/contract/session.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { OpenedSession } from './sessions.js';

/** A session on the wire. */
export const sessionShape = z
  .object({
    ...sessionMembers,
    secret: z.string().meta({ description: 'Filled only in the answer that creates the session' }),
  })
  .meta({ id: 'Session' });

/** A list of sessions on the wire. */
export const sessionListShape = z
  .object({ total: z.int(), sessions: z.array(sessionShape) })
  .meta({ id: 'SessionList' });

/** Renders a session without its secret. OAuth tokens are only for the user and the backend, never in events. */
export function toSession(
  session: Session,
  currentId: string | undefined,
  tokens: ProviderTokens = noTokens,
): EventPayload<'sessionCreated'> {
  return {
    $id: session.id,
    $createdAt: toWireInstant(session.createdAt),
    $updatedAt: toWireInstant(session.updatedAt),
    userId: session.userId,
    expire: toWireInstant(session.expire),
    provider: session.provider,
    providerUid: session.providerUid,
    providerAccessToken: tokens.accessToken,
    providerAccessTokenExpiry: toWireInstant(tokens.expires),
    providerRefreshToken: tokens.refreshToken,
    ip: session.ip,
    ...session.device,
    countryCode: '--',
    countryName: 'Unknown',
    current: session.id === currentId,
    factors: [...session.factors],
    secret: '',
    mfaUpdatedAt: toWireInstant(session.mfaUpdatedAt),
  };
}

/** Renders a new session with its secret. */
export function toNewSession(
  { session, secret }: OpenedSession,
  tokens?: ProviderTokens,
): z.input<typeof sessionShape> {
  return { ...toSession(session, session.id, tokens), secret };
}
