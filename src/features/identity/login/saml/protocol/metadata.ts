import { X509Certificate } from 'node:crypto';
import { samlLimits } from '#src/contract/limits.js';
import { childrenOf, isNamed, parseXml, textOf, withDescendants, xmlAttribute } from './dom.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

/** Metadata of an identity provider. */
export interface IdentityProviderMetadata {
  readonly entityId: string;
  /** URL that browsers send requests to; undefined if it supports neither HTTP-Redirect nor HTTP-POST. */
  readonly ssoUrl: string | undefined;
  /** Binding for requests: HTTP-POST only if HTTP-Redirect is not supported. */
  readonly ssoBinding: 'redirect' | 'post';
  /** Certificates of its signing keys, as PEM. */
  readonly certificates: readonly string[];
  /** True if it accepts only signed requests. */
  readonly wantsSignedRequests: boolean;
}

const bindingOf = (name: string) => `urn:oasis:names:tc:SAML:2.0:bindings:HTTP-${name}`;

/**
 * Reads the metadata of an identity provider (SAML metadata §2.4.3). It uses only the identity provider role, so that keys of other roles
 * of the entity cannot sign logins. If there are several identity providers, `wanted` selects one by entity id. Throws SamlRefused for
 * invalid metadata, for several identity providers without `wanted`, and for an unknown entity id.
 */
export function readMetadata(xml: string, wanted?: string): IdentityProviderMetadata {
  if (Buffer.byteLength(xml) > samlLimits.metadataBytes) throw new SamlRefused('too large or too deep');
  const root = parseXml(xml.replace(/^\ufeff/, ''), { remarks: true });
  const all = withDescendants(root).filter((element) => isNamed(element, 'metadata', 'IDPSSODescriptor'));
  const entityIdOf = (role: XmlElement) => xmlAttribute(role.parentNode as XmlElement, 'entityID');
  const roles = all.length > 1 && wanted !== undefined ? all.filter((role) => entityIdOf(role) === wanted) : all;
  if (all.length > 1 && roles.length === 0) throw new SamlRefused('no such provider');
  const [role, ...others] = roles;
  const entityId = role && entityIdOf(role);
  if (role === undefined || others.length > 0 || entityId === undefined) throw new SamlRefused('no response');
  const services = childrenOf(role, 'metadata', 'SingleSignOnService');
  const addressBy = (binding: string): string | undefined => {
    const service = services.find((one) => xmlAttribute(one, 'Binding') === bindingOf(binding));
    return service && xmlAttribute(service, 'Location');
  };
  const [byRedirect, byPost] = [addressBy('Redirect'), addressBy('POST')];
  return {
    entityId,
    ssoUrl: byRedirect ?? byPost,
    ssoBinding: byRedirect === undefined && byPost !== undefined ? 'post' : 'redirect',
    certificates: certificatesOf(role),
    wantsSignedRequests: ['true', '1'].includes(xmlAttribute(role, 'WantAuthnRequestsSigned')?.trim() ?? ''),
  };
}

/** Signing certificates; a key without `use` serves both purposes (SAML metadata §2.4.1.1). */
function certificatesOf(role: XmlElement): string[] {
  const keys = childrenOf(role, 'metadata', 'KeyDescriptor').filter((key) => xmlAttribute(key, 'use') !== 'encryption');
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
