import { z } from 'zod';
import { providerLimits } from '#src/contract/limits.js';
import type { ProviderConfig } from '../../providers/index.js';

/** A scope as RFC 6749 §3.3 writes it. */
export const scopeText = z
  .string()
  .min(1)
  .max(providerLimits.scope)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: visible ASCII characters without spaces');

const plainText = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');
/** The form of a configuration. */
export const configShape = z.object({
  clientId: plainText.max(providerLimits.clientId),
  /** Empty for a public client (RFC 6749 §2.1); Apple's is a private key. */
  clientSecret: z.string().max(providerLimits.secret).default(''),
  scopes: z.array(scopeText).max(providerLimits.scopes).default([]),
  issuer: z.string().max(providerLimits.url).optional(),
  tenant: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/, 'must be a tenant id or a domain')
    .optional(),
  teamId: plainText.max(100).optional(),
  keyId: plainText.max(100).optional(),
});

/** What a provider that speaks OAuth2 is configured with. */
export type OAuth2Config = z.output<typeof configShape>;

/** The stored configuration with its type. */
export function configOf(config: ProviderConfig): OAuth2Config {
  return configShape.parse(config);
}
