import { z } from 'zod';
import { providerLimits } from '#src/contract/limits.js';
import type { ProviderConfig } from '../../../providers/index.js';

/** A scope in the syntax of RFC 6749 §3.3. */
export const scopeText = z
  .string()
  .min(1)
  .max(providerLimits.scope)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: visible ASCII characters without spaces');

const plainText = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');
const claimName = plainText.max(providerLimits.claimName).optional();
/** Schema of a configuration. */
export const oauth2ConfigShape = z.object({
  clientId: plainText.max(providerLimits.clientId),
  /** Empty for a public client (RFC 6749 §2.1); a private key for Apple. */
  clientSecret: z.string().max(providerLimits.secret).default(''),
  scopes: z.array(scopeText).max(providerLimits.scopes).default([]),
  issuer: z.string().max(providerLimits.url).optional(),
  tenant: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/, 'must be a tenant id or a domain')
    .optional(),
  /** Claim names for providers that do not use the standard ones. */
  emailClaim: claimName,
  emailVerifiedClaim: claimName,
  nameClaim: claimName,
  teamId: plainText.max(100).optional(),
  keyId: plainText.max(100).optional(),
});

/** Configuration of an OAuth2 provider. */
export type OAuth2Config = z.output<typeof oauth2ConfigShape>;

/** Parses a stored configuration. */
export function oauth2ConfigOf(config: ProviderConfig): OAuth2Config {
  return oauth2ConfigShape.parse(config);
}
