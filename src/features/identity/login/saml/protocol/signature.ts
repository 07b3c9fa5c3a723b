import { createHash, type KeyObject, verify } from 'node:crypto';
import { type HashAlgorithm, type SignatureAlgorithm, SignedXml } from 'xml-crypto';
import { attributeOf, childrenOf, elementsOf, isNamed, onlyChildOf, textOf } from './dom.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const transforms = ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive];
const more = 'http://www.w3.org/2001/04/xmldsig-more#';

/** RFC 9231: SHA-256 and longer with keys that only the provider has; neither SHA-1 nor HMAC. */
const signatureMethods = new Map(
  [
    ['rsa-sha256', { type: 'rsa', hash: 'sha256' }],
    ['rsa-sha384', { type: 'rsa', hash: 'sha384' }],
    ['rsa-sha512', { type: 'rsa', hash: 'sha512' }],
    ['ecdsa-sha256', { type: 'ec', hash: 'sha256' }],
    ['ecdsa-sha384', { type: 'ec', hash: 'sha384' }],
    ['ecdsa-sha512', { type: 'ec', hash: 'sha512' }],
  ].map(([name, method]) => [`${more}${name as string}`, method as Method]),
);
const digestMethods = new Map([
  ['http://www.w3.org/2001/04/xmlenc#sha256', 'sha256'],
  [`${more}sha384`, 'sha384'],
  ['http://www.w3.org/2001/04/xmlenc#sha512', 'sha512'],
]);
/** Characters of a list of prefixes (Exclusive XML Canonicalization §4). */
const prefixCharacters = 256;

interface Method {
  readonly type: 'rsa' | 'ec';
  readonly hash: string;
}

/** A signature whose form is allowed; whether it holds is not known yet. */
interface CheckedSignature {
  readonly element: XmlElement;
  readonly method: string;
}

/**
 * Judges the form of a signature (XML Signature §4): one reference, to the element that holds it, by its id; nothing but the two transforms of
 * SAML core §5.4; no other content. What is not listed here never reaches the library. Throws SamlRefused.
 */
export function checkForm(element: XmlElement, signed: XmlElement): CheckedSignature {
  const [info, value, keyInfo, ...others] = elementsOf(element);
  const isForm =
    info !== undefined &&
    value !== undefined &&
    isNamed(info, 'signature', 'SignedInfo') &&
    isNamed(value, 'signature', 'SignatureValue') &&
    (keyInfo === undefined || isNamed(keyInfo, 'signature', 'KeyInfo')) &&
    others.length === 0;
  if (!isForm) throw new SamlRefused('form of the signature');
  const [canonical, method, reference, ...further] = elementsOf(info);
  const isInfo =
    canonical !== undefined &&
    method !== undefined &&
    reference !== undefined &&
    isNamed(canonical, 'signature', 'CanonicalizationMethod') &&
    isNamed(method, 'signature', 'SignatureMethod') &&
    isNamed(reference, 'signature', 'Reference') &&
    further.length === 0;
  if (!isInfo) throw new SamlRefused('form of the signature');
  demandReference(reference, signed);
  if (attributeOf(canonical, 'Algorithm') !== exclusive) throw new SamlRefused('algorithm of the signature');
  demandPrefixes(canonical);
  const algorithm = attributeOf(method, 'Algorithm') ?? '';
  if (!signatureMethods.has(algorithm) || elementsOf(method).length > 0)
    throw new SamlRefused('algorithm of the signature');
  return { element, method: algorithm };
}

/** The bytes that a signature of one of the keys covers, as the text of the canonical element. Throws SamlRefused. */
export function verifiedText(xml: string, { element, method }: CheckedSignature, keys: readonly KeyObject[]): string {
  const { type, hash } = signatureMethods.get(method) as Method;
  const own = keys.filter(({ asymmetricKeyType }) => asymmetricKeyType === type);
  const [covered, ...others] =
    own[0] === undefined ? [] : referencesSigned(xml, element, own[0], verifierOf(hash, own));
  if (covered === undefined || others.length > 0) throw new SamlRefused('signature');
  return covered;
}

/** Never asks the document for a key: `KeyInfo` is what anybody writes there. */
function referencesSigned(
  xml: string,
  element: XmlElement,
  key: KeyObject,
  verifier: new () => SignatureAlgorithm,
): readonly string[] {
  const signed = new SignedXml({ publicCert: key, getCertFromKeyInfo: () => null });
  signed.SignatureAlgorithms = Object.fromEntries(
    [...signatureMethods.keys()].map((name) => [name, verifier]),
  ) as typeof signed.SignatureAlgorithms;
  signed.HashAlgorithms = Object.fromEntries(
    [...digestMethods].map(([name, hash]) => [name, hasherOf(name, hash)]),
  ) as typeof signed.HashAlgorithms;
  try {
    signed.loadSignature(element);
    return signed.checkSignature(xml) ? signed.getSignedReferences() : [];
  } catch {
    // The library throws for a value that does not fit as well as for what it does not know.
    return [];
  }
}

/** Tries all keys at the only place that needs one: for each of them anew, the library would canonicalise the whole document. */
function verifierOf(hash: string, keys: readonly KeyObject[]): new () => SignatureAlgorithm {
  return class {
    readonly getAlgorithmName = () => hash;
    readonly verifySignature = (material: string, _: KeyObject, value: string): boolean =>
      keys.some((key) =>
        verify(hash, Buffer.from(material), { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(value, 'base64')),
      );
    readonly getSignature = (): never => {
      throw new TypeError('a service provider only verifies');
    };
  } as unknown as new () => SignatureAlgorithm;
}

function hasherOf(name: string, hash: string): new () => HashAlgorithm {
  return class {
    readonly getAlgorithmName = () => name;
    readonly getHash = (text: string): string => createHash(hash).update(text, 'utf8').digest('base64');
  };
}

function demandReference(reference: XmlElement, signed: XmlElement): void {
  const id = attributeOf(signed, 'ID') ?? '';
  if (attributeOf(reference, 'URI') !== `#${id}`) throw new SamlRefused('reference of the signature');
  const [list, digest, value, ...others] = elementsOf(reference);
  const isForm =
    list !== undefined &&
    digest !== undefined &&
    value !== undefined &&
    isNamed(list, 'signature', 'Transforms') &&
    isNamed(digest, 'signature', 'DigestMethod') &&
    isNamed(value, 'signature', 'DigestValue') &&
    textOf(value) !== undefined &&
    others.length === 0;
  if (!isForm) throw new SamlRefused('form of the signature');
  if (!digestMethods.has(attributeOf(digest, 'Algorithm') ?? '')) throw new SamlRefused('algorithm of the signature');
  const steps = elementsOf(list);
  const isPlain =
    steps.length === transforms.length &&
    steps.every(
      (step, at) => isNamed(step, 'signature', 'Transform') && attributeOf(step, 'Algorithm') === transforms[at],
    );
  const [enveloped, canonical] = steps;
  if (!isPlain || enveloped === undefined || canonical === undefined || elementsOf(enveloped).length > 0)
    throw new SamlRefused('transforms of the signature');
  demandPrefixes(canonical);
}

/** The only parameter of exclusive canonicalization: prefixes that are treated as inclusive. */
function demandPrefixes(element: XmlElement): void {
  const parameters = elementsOf(element);
  const list = onlyChildOf(element, 'canonical', 'InclusiveNamespaces');
  if (parameters.length !== childrenOf(element, 'canonical', 'InclusiveNamespaces').length || parameters.length > 1)
    throw new SamlRefused('transforms of the signature');
  if ((list && (attributeOf(list, 'PrefixList') ?? '').length > prefixCharacters) === true)
    throw new SamlRefused('transforms of the signature');
}
