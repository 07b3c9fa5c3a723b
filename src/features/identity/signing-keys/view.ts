import { z } from 'zod';
import { signingKeyLife } from '#src/contract/limits.js';
import { toWireInstant } from '#src/contract/shapes.js';
import { kidPattern, signingAlgorithms } from '#src/contract/signing-key.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { type SigningKeyState, stateOf } from './states.js';
import type { SigningKey } from './store.js';

/** The public part of a key on the wire. */
const jwkShape = z
  .object({
    kty: z.literal('RSA'),
    n: z.string(),
    e: z.string(),
    kid: z.string().regex(kidPattern),
    use: z.literal('sig'),
    alg: z.literal('RS256'),
  })
  .meta({ id: 'JsonWebKey' });

/** The published keys of a project (RFC 7517 §5). */
export const jwksShape = z.object({ keys: z.array(jwkShape) }).meta({ id: 'JsonWebKeySet' });

/** Discovery document for OpenID Connect libraries. It names no login endpoints, because logins do not use OpenID Connect. */
export const discoveryShape = z
  .object({
    issuer: z.url(),
    jwks_uri: z.url(),
    response_types_supported: z.array(z.string()),
    subject_types_supported: z.array(z.string()),
    id_token_signing_alg_values_supported: z.array(z.enum(signingAlgorithms)),
    claims_supported: z.array(z.string()),
  })
  .meta({ id: 'OpenIdConfiguration' });

/** Renders the keys that have a public part. */
export function toJwks(keys: readonly SigningKey[]): z.input<typeof jwksShape> {
  return {
    keys: keys.flatMap(({ kid, publicJwk }) => {
      if (publicJwk === null) return [];
      const { kty, n, e } = publicJwk;
      return [{ kty, n, e, kid, use: 'sig' as const, alg: 'RS256' as const }];
    }),
  };
}

/** Renders the discovery document of an issuer (OpenID Connect Discovery 1.0 §3). */
export function toDiscovery(issuer: string, claims: readonly string[]): z.input<typeof discoveryShape> {
  return {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claims_supported: [...claims],
  };
}

/** A signing key as shown to operators. */
export interface SigningKeyStatus {
  readonly kid: string;
  readonly alg: string;
  readonly state: SigningKeyState;
  readonly createdAt: string;
  readonly signsFrom: string;
  /** End of signing; a planned time until the key has a successor. */
  readonly retireAt: string;
  /** Time after which its tokens are not accepted any more; null until it has a successor. */
  readonly goneAt: string | null;
}

/** Renders keys, newest first within each algorithm. */
export function toStatus(keys: readonly SigningKey[], nowMs: number): SigningKeyStatus[] {
  const planned = ({ signsFrom }: SigningKey) =>
    instantOf(millisecondsOf(signsFrom) + signingKeyLife.days * 86_400_000);
  return keys.toReversed().map((key) => ({
    kid: key.kid,
    alg: key.alg,
    state: stateOf(keys, key, nowMs),
    createdAt: toWireInstant(key.createdAt),
    signsFrom: toWireInstant(key.signsFrom),
    retireAt: toWireInstant(key.signsUntil ?? planned(key)),
    goneAt: key.publishedUntil === null ? null : toWireInstant(key.publishedUntil),
  }));
}
