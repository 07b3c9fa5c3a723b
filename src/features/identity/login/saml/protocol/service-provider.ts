import { type KeyObject, sign } from 'node:crypto';
import { samlify } from './packages.js';

/** Who we are to an identity provider, in one project. */
export interface ServiceProvider {
  readonly entityId: string;
  /** The assertion consumer service: where responses are posted. */
  readonly acsUrl: string;
  readonly nameIdFormat: string;
}

/** What our metadata says besides: the certificates of our keys, as PEM. */
interface Published {
  readonly signingCertificate: string;
  readonly encryptionCertificate: string;
  /** Whether our requests are signed. */
  readonly signRequests: boolean;
}

/** A request that a browser takes to an identity provider. */
interface LoginRequest {
  readonly id: string;
  readonly instant: string;
  readonly relayState: string;
  readonly ssoUrl: string;
  /** The key that signs it; undefined for a request that is not signed. */
  readonly signingKey: KeyObject | undefined;
}

const { SamlLib, Constants } = samlify;
const { post, redirect } = Constants.namespace.binding;
const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

/** The metadata that identity providers are configured with: one address for responses, only signed assertions, and our keys. */
export function serviceProviderMetadata(
  provider: ServiceProvider,
  { signingCertificate, encryptionCertificate, signRequests }: Published,
): string {
  const published = {
    signingCert: signingCertificate,
    encryptCert: encryptionCertificate,
    authnRequestsSigned: signRequests,
  };
  return samlify.ServiceProvider({ ...settingsOf(provider), ...published }).getMetadata();
}

/** The address that takes a request to the identity provider (SAML bindings §3.4). */
export function loginRequestUrl(
  provider: ServiceProvider,
  { id, instant, relayState, ssoUrl, signingKey }: LoginRequest,
): URL {
  const { entityId, acsUrl, nameIdFormat } = provider;
  const service = { Binding: redirect, Location: ssoUrl };
  // Of the identity provider only its address counts here. Without an address for logouts the library writes a warning for each login.
  const identityProvider = samlify.IdentityProvider({
    entityID: 'unused',
    singleSignOnService: [service],
    singleLogoutService: [service],
  });
  const values = {
    ID: id,
    ForceAuthn: undefined,
    IssueInstant: instant,
    Destination: ssoUrl,
    ProtocolBinding: post,
    AssertionConsumerServiceURL: acsUrl,
    AssertionConsumerServiceIndex: undefined,
    Issuer: entityId,
    NameIDFormat: nameIdFormat,
    AllowCreate: 'true',
  };
  const customTagReplacement = (template: string) => ({ id, context: SamlLib.replaceTagsByValue(template, values) });
  const { context } = samlify.ServiceProvider(settingsOf(provider)).createLoginRequest(identityProvider, 'redirect', {
    relayState,
    customTagReplacement,
  });
  return new URL(signingKey === undefined ? context : signedUrl(context, signingKey));
}

/**
 * The signature stands in the address, over the parameters as they are written there (SAML bindings §3.4.4.1). The library would sign with
 * node-rsa, an implementation of its own.
 */
function signedUrl(address: string, key: KeyObject): string {
  const unsigned = `${address}&SigAlg=${encodeURIComponent(rsaSha256)}`;
  const covered = unsigned.slice(unsigned.lastIndexOf('SAMLRequest='));
  return `${unsigned}&Signature=${encodeURIComponent(sign('sha256', Buffer.from(covered), key).toString('base64'))}`;
}

function settingsOf({ entityId, acsUrl, nameIdFormat }: ServiceProvider) {
  return {
    entityID: entityId,
    wantAssertionsSigned: true,
    nameIDFormat: [nameIdFormat],
    assertionConsumerService: [{ Binding: post, Location: acsUrl, isDefault: true }],
  } as const;
}
