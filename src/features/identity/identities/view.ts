import { z } from 'zod';
import type { ProviderTokens } from '#src/contract/session.js';
import { toWireInstant, wireInstantOrEmpty, wireRecord } from '#src/contract/shapes.js';
import type { Identity } from './service.js';

/** A user's account at an identity provider, on the wire. */
const identityShape = z
  .object({
    ...wireRecord,
    userId: z.string(),
    provider: z.string(),
    providerUid: z.string(),
    providerEmail: z.string(),
    providerAccessToken: z.string(),
    providerAccessTokenExpiry: wireInstantOrEmpty,
    providerRefreshToken: z.string(),
  })
  .meta({ id: 'Identity' });

/** A list of identities on the wire. */
export const identityListShape = z
  .object({ total: z.int(), identities: z.array(identityShape) })
  .meta({ id: 'IdentityList' });

/** Renders an identity with its OAuth tokens for the wire. */
export function toIdentity(identity: Identity, tokens: ProviderTokens): z.input<typeof identityShape> {
  return {
    $id: identity.id,
    $createdAt: toWireInstant(identity.createdAt),
    $updatedAt: toWireInstant(identity.updatedAt),
    userId: identity.userId,
    provider: identity.provider,
    providerUid: identity.providerUid,
    providerEmail: identity.providerEmail,
    providerAccessToken: tokens.accessToken,
    providerAccessTokenExpiry: toWireInstant(tokens.expires),
    providerRefreshToken: tokens.refreshToken,
  };
}
