import { type KeyObject, sign } from 'node:crypto';
import { SignedXml } from 'xml-crypto';
import { samlify } from './packages.js';

/** Our identity towards an identity provider, in one project. */
export interface ServiceProvider {
  readonly entityId: string;
  /** The assertion consumer service: the URL that responses are posted to. */
  readonly acsUrl: string;
  readonly nameIdFormat: string;
}

/** Further contents of our metadata: the certificates of our keys, as PEM. */
interface Published {
  readonly signingCertificate: string;
  readonly encryptionCertificate: string;
  /** True if our requests are signed. */
  readonly signRequests: boolean;
}

/** A request that the browser sends to an identity provider. */
interface LoginRequest {
  readonly id: string;
  readonly instant: string;
  readonly relayState: string;
  readonly ssoUrl: string;
  /** The signing key; undefined for an unsigned request. */
  readonly signingKey: KeyObject | undefined;
}

/** Form fields of a request to an identity provider. */
interface LoginFields {
  readonly SAMLRequest: string;
  readonly RelayState: string;
}

const { SamlLib, Constants } = samlify;
const { post, redirect } = Constants.namespace.binding;
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

/** Our metadata for configuring identity providers: one URL for responses, only signed assertions, and our keys. */
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

/** The URL that sends a request to the identity provider (SAML bindings §3.4). */
export function loginRequestUrl(provider: ServiceProvider, request: LoginRequest): URL {
  const context = requestOf(provider, request, 'redirect');
  return new URL(request.signingKey === undefined ? context : signedUrl(context, request.signingKey));
}

/** The form fields that send a request to the identity provider (SAML bindings §3.5). */
export function loginRequestFields(provider: ServiceProvider, request: LoginRequest): LoginFields {
  const SAMLRequest = requestOf(provider, request, 'post');
  const { signingKey, relayState: RelayState } = request;
  return { SAMLRequest: signingKey === undefined ? SAMLRequest : signedDocument(SAMLRequest, signingKey), RelayState };
}

/** The request as created by the library: a URL, or the document in base64. */
function requestOf(
  provider: ServiceProvider,
  { id, instant, relayState, ssoUrl }: LoginRequest,
  binding: 'redirect' | 'post',
): string {
  const { entityId, acsUrl, nameIdFormat } = provider;
  const service = { Binding: binding === 'post' ? post : redirect, Location: ssoUrl };
  // The library needs only the URL of the identity provider here. Without a logout URL it would log a warning for each login.
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
  const options = { relayState, customTagReplacement };
  return samlify.ServiceProvider(settingsOf(provider)).createLoginRequest(identityProvider, binding, options).context;
}

/** Signs the document with a signature after the issuer (SAML core §3.2.1). Takes and returns base64. */
function signedDocument(encoded: string, key: KeyObject): string {
  const signer = new SignedXml({
    privateKey: key.export({ format: 'pem', type: 'pkcs8' }),
    signatureAlgorithm: rsaSha256,
    canonicalizationAlgorithm: exclusive,
  });
  signer.addReference({
    xpath: "/*[local-name(.)='AuthnRequest']",
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  const location = { reference: "/*/*[local-name(.)='Issuer']", action: 'after' } as const;
  signer.computeSignature(Buffer.from(encoded, 'base64').toString('utf8'), { prefix: 'ds', location });
  return Buffer.from(signer.getSignedXml()).toString('base64');
}

/**
 * Signs the URL's parameters as encoded in it (SAML bindings §3.4.4.1). The library is not used, because it would sign with node-rsa, which
 * has its own implementation of RSA.
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
