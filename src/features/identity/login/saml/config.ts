import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { asciiDomain } from '#src/contract/email-address.js';
import { providerLimits, samlLimits } from '#src/contract/limits.js';
import type { ProviderConfig } from '../../providers/index.js';

const format = (version: string, name: string) => `urn:oasis:names:tc:SAML:${version}:nameid-format:${name}`;

/** NameID formats that can be requested (SAML core §8.3). */
export const nameIdFormats = {
  unspecified: format('1.1', 'unspecified'),
  email: format('1.1', 'emailAddress'),
  persistent: format('2.0', 'persistent'),
} as const;
/** NameID format whose value differs at every login. */
export const transientFormat = format('2.0', 'transient');

const visibleText = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');
const attributeName = visibleText.max(samlLimits.attributeName).optional();
const domain = z.string().transform((typed, context) => {
  const ascii = asciiDomain(typed.trim());
  if (ascii === undefined) context.addIssue({ code: 'custom', message: 'must be a domain such as example.com' });
  return ascii ?? z.NEVER;
});
/** Schema of a configuration. */
export const samlConfigShape = z.object({
  entityId: visibleText.max(1024),
  ssoUrl: visibleText.max(providerLimits.url),
  /** Binding for requests (SAML bindings §3.4 and §3.5). */
  ssoBinding: z.enum(['redirect', 'post']).default('redirect'),
  /** As PEM. */
  certificates: z.array(z.string().max(16_384)).min(1).max(samlLimits.certificates),
  /** Source of `entityId`, `ssoUrl` and `certificates`. */
  metadataUrl: z.string().max(providerLimits.url).optional(),
  nameIdFormat: z.enum(['unspecified', 'email', 'persistent']).default('unspecified'),
  /** The attribute that identifies the user; the NameID if absent. */
  uidAttribute: attributeName,
  emailAttribute: attributeName,
  nameAttribute: attributeName,
  /** Domains whose addresses the provider assigns only to their owners. */
  emailDomains: z.array(domain).max(samlLimits.emailDomains).default([]),
  /** True if requests are signed. Set automatically if the provider's metadata requires it. */
  signRequests: z.boolean().default(false),
  /** True if the provider may begin logins; they end at `idpInitiatedPage`. */
  idpInitiated: z.boolean().default(false),
  idpInitiatedPage: z.string().max(providerLimits.url).default(''),
});

/** Configuration of a SAML provider. */
export type SamlConfig = z.output<typeof samlConfigShape>;

/** Parses a stored configuration. */
export function samlConfigOf(config: ProviderConfig): SamlConfig {
  return samlConfigShape.parse(config);
}

/** Parses a certificate of a provider; undefined if it is malformed or its key is neither elliptic-curve nor RSA of at least 2048 bits. */
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
