import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { providerLimits, samlLimits } from '#src/contract/limits.js';
import type { ProviderConfig } from '../../providers/index.js';

const format = (version: string, name: string) => `urn:oasis:names:tc:SAML:${version}:nameid-format:${name}`;

/** The forms of a NameID that can be asked for (SAML core §8.3). */
export const nameIdFormats = {
  unspecified: format('1.1', 'unspecified'),
  email: format('1.1', 'emailAddress'),
  persistent: format('2.0', 'persistent'),
} as const;
/** That which differs with every login. */
export const transientFormat = format('2.0', 'transient');

const visibleText = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');
const attributeName = visibleText.max(samlLimits.attributeName).optional();
const domain = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be a domain such as example.com');
/** The form of a configuration. */
export const configShape = z.object({
  entityId: visibleText.max(1024),
  ssoUrl: visibleText.max(providerLimits.url),
  /** As PEM. */
  certificates: z.array(z.string().max(16_384)).min(1).max(samlLimits.certificates),
  /** Where the three above were read. */
  metadataUrl: z.string().max(providerLimits.url).optional(),
  nameIdFormat: z.enum(['unspecified', 'email', 'persistent']).default('unspecified'),
  /** The attribute that tells who somebody is; the NameID where absent. */
  uidAttribute: attributeName,
  emailAttribute: attributeName,
  nameAttribute: attributeName,
  /** Domains whose addresses the provider gives to their owners only. */
  emailDomains: z.array(domain).max(samlLimits.emailDomains).default([]),
  /** Whether requests are signed; so they are where the metadata of the provider wants it. */
  signRequests: z.boolean().default(false),
  /** Whether the provider may begin logins, and the page to which those lead. */
  idpInitiated: z.boolean().default(false),
  idpInitiatedPage: z.string().max(providerLimits.url).default(''),
});

/** What a provider that speaks SAML is configured with. */
export type SamlConfig = z.output<typeof configShape>;

/** The stored configuration with its type. */
export function configOf(config: ProviderConfig): SamlConfig {
  return configShape.parse(config);
}

/** A certificate of a provider, undefined for what is none or has a key that is too weak: RSA below 2048 bits, or of another kind. */
export function certificateOf(pem: string): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(pem);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
    const isStrong = type === 'ec' || (type === 'rsa' && (details?.modulusLength ?? 0) >= 2048);
    return isStrong ? certificate : undefined;
  } catch {
    return undefined;
  }
}
