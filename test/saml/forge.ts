// Responses of a SAML identity provider as a test wants them: written by hand, signed as told, so that each part can be what it must not be.
import { createHmac, sign } from 'node:crypto';
import { SignedXml } from 'xml-crypto';
import { selfSigned } from '../harness/certificate.js';

/** A key of an identity provider with its certificate, as PEM. */
export type Identity = ReturnType<typeof selfSigned>;

/** The keys that the provider has, one that nobody knows, and one on an elliptic curve. */
export const own = selfSigned(['idp'], { bits: 2048 });
export const stranger = selfSigned(['idp'], { bits: 2048 });
export const curve = selfSigned(['idp']);

/** What a response says. */
export interface Said {
  readonly issuer: string;
  readonly audience: string;
  readonly acs: string;
  readonly requestId: string | undefined;
  readonly nameId?: string;
  readonly format?: string;
  readonly attributes?: Readonly<Record<string, readonly string[]>>;
  readonly assertionId?: string;
  readonly now?: number;
}

/** Its parts as XML, any of which a test may replace. */
export interface Parts {
  response: string;
  head: string;
  assertion: string;
  issuer: string;
  subject: string;
  conditions: string;
  statements: string;
}

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const more = 'http://www.w3.org/2001/04/xmldsig-more#';
const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256';

const instant = (milliseconds: number) => new Date(milliseconds).toISOString();
let ids = 0;
export const freshId = () => `_id${++ids}-${process.pid}`;
export const escaped = (text: string) =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
const inResponseTo = (id: string | undefined) => (id === undefined ? '' : ` InResponseTo="${id}"`);

/** The parts of a response that holds. */
export function partsOf(said: Said): Parts {
  const { issuer, audience, acs, requestId, nameId = 'somebody', attributes = {} } = said;
  const {
    format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    assertionId = freshId(),
    now = Date.now(),
  } = said;
  const until = instant(now + 300_000);
  const values = Object.entries(attributes).map(
    ([name, list]) =>
      `<saml:Attribute Name="${escaped(name)}">${list.map((value) => `<saml:AttributeValue>${escaped(value)}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
  );
  return {
    response: `ID="${freshId()}" Version="2.0" IssueInstant="${instant(now)}" Destination="${escaped(acs)}"${inResponseTo(requestId)}`,
    head: `<saml:Issuer>${escaped(issuer)}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>`,
    assertion: `ID="${assertionId}" Version="2.0" IssueInstant="${instant(now)}"`,
    issuer: `<saml:Issuer>${escaped(issuer)}</saml:Issuer>`,
    subject: `<saml:Subject><saml:NameID Format="${format}">${escaped(nameId)}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${until}" Recipient="${escaped(acs)}"${inResponseTo(requestId)}/></saml:SubjectConfirmation></saml:Subject>`,
    conditions: `<saml:Conditions NotBefore="${instant(now - 1000)}" NotOnOrAfter="${until}"><saml:AudienceRestriction><saml:Audience>${escaped(audience)}</saml:Audience></saml:AudienceRestriction></saml:Conditions>`,
    statements: `<saml:AuthnStatement AuthnInstant="${instant(now)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>${values.length === 0 ? '' : `<saml:AttributeStatement>${values.join('')}</saml:AttributeStatement>`}`,
  };
}

/** The document of these parts, unsigned. */
export function documentOf({ response, head, assertion, issuer, subject, conditions, statements }: Parts): string {
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ${response}>${head}<saml:Assertion ${assertion}>${issuer}${subject}${conditions}${statements}</saml:Assertion></samlp:Response>`;
}

/** How an element is signed. */
export interface Signing {
  readonly identity?: Identity;
  /** What is signed, and after which of its elements the signature stands. */
  readonly what?: 'Assertion' | 'Response';
  readonly algorithm?: string;
  readonly digest?: string;
  readonly transforms?: readonly string[];
  readonly canonicalization?: string;
  readonly keyInfo?: boolean;
  /** Another place of the signature. */
  readonly location?: { readonly reference: string; readonly action: 'append' | 'prepend' | 'before' | 'after' };
}

const signers = (hash: string) =>
  class {
    getAlgorithmName = () => `${more}ecdsa-${hash}`;
    getSignature = (text: string, key: string) =>
      sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64');
    verifySignature = () => false;
  };
const hmac = class {
  getAlgorithmName = () => `${more}hmac-sha256`;
  getSignature = (text: string, key: string) => createHmac('sha256', key).update(text).digest('base64');
  verifySignature = () => false;
};

/** Signs an element as XML Signature does; the names of algorithms are those of its URIs. */
export function signed(xml: string, options: Signing = {}): string {
  const { identity = own, what = 'Assertion', algorithm = `${more}rsa-sha256`, digest = sha256 } = options;
  const { transforms = [enveloped, exclusive], canonicalization = exclusive, keyInfo = true } = options;
  const isHmac = algorithm.includes('hmac');
  const signer = new SignedXml({
    privateKey: isHmac ? identity.cert : identity.key,
    ...(keyInfo ? { publicCert: identity.cert } : {}),
    signatureAlgorithm: algorithm as never,
    canonicalizationAlgorithm: canonicalization as never,
  });
  Object.assign(signer.SignatureAlgorithms, {
    [`${more}ecdsa-sha256`]: signers('sha256'),
    [`${more}ecdsa-sha384`]: signers('sha384'),
    [`${more}hmac-sha256`]: hmac,
  });
  signer.addReference({
    xpath: `//*[local-name(.)='${what}']`,
    transforms: [...transforms] as never,
    digestAlgorithm: digest as never,
  });
  const location = options.location ?? {
    reference: `//*[local-name(.)='${what}']/*[local-name(.)='Issuer']`,
    action: 'after',
  };
  signer.computeSignature(xml, { prefix: 'ds', location });
  return signer.getSignedXml();
}

/** As it is posted. */
export const encoded = (xml: string | Buffer) => Buffer.from(xml as string).toString('base64');

/** The parts of a signed document, for those who put them together anew. */
export function takenApart(xml: string) {
  const assertion = /<saml:Assertion[\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? '';
  const signature = /<ds:Signature[\s\S]*?<\/ds:Signature>/.exec(assertion)?.[0] ?? '';
  return {
    assertion,
    signature,
    /** The signed assertion without its signature. */
    bare: assertion.replace(signature, ''),
    around: (content: string) => xml.replace(assertion, () => content),
  };
}
