import { X509Certificate } from 'node:crypto';
import { samlLimits } from '#src/contract/limits.js';
import { attributeOf, childrenOf, isNamed, parseXml, textOf, withDescendants } from './dom.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

/** What an identity provider says of itself. */
export interface IdentityProviderMetadata {
  readonly entityId: string;
  /** Where browsers are sent with a request by HTTP-Redirect; undefined where it takes none. */
  readonly ssoUrl: string | undefined;
  /** Certificates of the keys by which it signs, as PEM. */
  readonly certificates: readonly string[];
  /** Whether it takes signed requests only. */
  readonly wantsSignedRequests: boolean;
}

const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';

/**
 * Reads the metadata of an identity provider (SAML metadata §2.4.3): of its role as identity provider only, so that a key of another role of
 * the same entity signs no login. Throws SamlRefused for what is no metadata, or that of several identity providers.
 */
export function readMetadata(xml: string): IdentityProviderMetadata {
  if (Buffer.byteLength(xml) > samlLimits.metadataBytes) throw new SamlRefused('too large or too deep');
  const root = parseXml(xml.replace(/^\ufeff/, ''), { remarks: true });
  const roles = withDescendants(root).filter((element) => isNamed(element, 'metadata', 'IDPSSODescriptor'));
  const [role, ...others] = roles;
  const entity = role?.parentNode as XmlElement | undefined;
  const entityId = entity && attributeOf(entity, 'entityID');
  if (role === undefined || others.length > 0 || entityId === undefined) throw new SamlRefused('no response');
  const services = childrenOf(role, 'metadata', 'SingleSignOnService');
  const redirect = services.find((service) => attributeOf(service, 'Binding') === redirectBinding);
  return {
    entityId,
    ssoUrl: redirect && attributeOf(redirect, 'Location'),
    certificates: certificatesOf(role),
    wantsSignedRequests: ['true', '1'].includes(attributeOf(role, 'WantAuthnRequestsSigned')?.trim() ?? ''),
  };
}

/** Those for signing; a key without `use` serves both purposes (SAML metadata §2.4.1.1). */
function certificatesOf(role: XmlElement): string[] {
  const keys = childrenOf(role, 'metadata', 'KeyDescriptor').filter((key) => attributeOf(key, 'use') !== 'encryption');
  const found = keys.flatMap((key) =>
    withDescendants(key)
      .filter((element) => isNamed(element, 'signature', 'X509Certificate'))
      .map((element) => pemOf(textOf(element) ?? '')),
  );
  return [...new Set(found)];
}

function pemOf(base64: string): string {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).toString();
  } catch {
    throw new SamlRefused('malformed xml');
  }
}
