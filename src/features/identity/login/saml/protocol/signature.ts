import { createHash, type KeyObject, verify } from 'node:crypto';
import { type HashAlgorithm, type SignatureAlgorithm, SignedXml } from 'xml-crypto';
import { childrenOf, elementsOf, isNamed, onlyChildOf, textOf, xmlAttribute } from './dom.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const transforms = ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive];
const more = 'http://www.w3.org/2001/04/xmldsig-more#';

/** RFC 9231: SHA-256 or longer with keys that only the provider has; neither SHA-1 nor HMAC. */
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
/** Maximum length of a prefix list (Exclusive XML Canonicalization §4). */
const prefixCharacters = 256;

interface Method {
  readonly type: 'rsa' | 'ec';
  readonly hash: string;
}

/** A signature of an allowed form that is not verified yet. */
interface CheckedSignature {
  readonly element: XmlElement;
  readonly method: string;
}

/**
 * Checks the form of a signature (XML Signature §4): one reference by id to the element that contains it, only the two transforms of SAML
 * core §5.4, and no other content. Anything not listed here never reaches the library. Throws SamlRefused.
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
  requireReference(reference, signed);
  if (xmlAttribute(canonical, 'Algorithm') !== exclusive) throw new SamlRefused('algorithm of the signature');
  requirePrefixes(canonical);
  const algorithm = xmlAttribute(method, 'Algorithm') ?? '';
  if (!signatureMethods.has(algorithm) || elementsOf(method).length > 0)
    throw new SamlRefused('algorithm of the signature');
  return { element, method: algorithm };
}

/** The text of the canonical element covered by a signature of one of the keys. Throws SamlRefused if the signature is invalid. */
export function verifiedText(xml: string, { element, method }: CheckedSignature, keys: readonly KeyObject[]): string {
  const { type, hash } = signatureMethods.get(method) as Method;
  const own = keys.filter(({ asymmetricKeyType }) => asymmetricKeyType === type);
  const [covered, ...others] =
    own[0] === undefined ? [] : referencesSigned(xml, element, own[0], verifierOf(hash, own));
  if (covered === undefined || others.length > 0) throw new SamlRefused('signature');
  return covered;
}

/** Never uses keys from the document: anyone can write `KeyInfo`. */
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
    // The library throws both for wrong values and for unknown features.
    return [];
  }
}

/** Tries all keys in the only step that needs one. Verifying with each key separately would canonicalise the whole document each time. */
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

function requireReference(reference: XmlElement, signed: XmlElement): void {
  const id = xmlAttribute(signed, 'ID') ?? '';
  if (xmlAttribute(reference, 'URI') !== `#${id}`) throw new SamlRefused('reference of the signature');
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
  if (!digestMethods.has(xmlAttribute(digest, 'Algorithm') ?? '')) throw new SamlRefused('algorithm of the signature');
  const steps = elementsOf(list);
  const isPlain =
    steps.length === transforms.length &&
    steps.every(
      (step, at) => isNamed(step, 'signature', 'Transform') && xmlAttribute(step, 'Algorithm') === transforms[at],
    );
  const [enveloped, canonical] = steps;
  if (!isPlain || enveloped === undefined || canonical === undefined || elementsOf(enveloped).length > 0)
    throw new SamlRefused('transforms of the signature');
  requirePrefixes(canonical);
}

/** Checks the only parameter of exclusive canonicalization: prefixes that are treated as inclusive. */
function requirePrefixes(element: XmlElement): void {
  const parameters = elementsOf(element);
  const list = onlyChildOf(element, 'canonical', 'InclusiveNamespaces');
  if (parameters.length !== childrenOf(element, 'canonical', 'InclusiveNamespaces').length || parameters.length > 1)
    throw new SamlRefused('transforms of the signature');
  if ((list && (xmlAttribute(list, 'PrefixList') ?? '').length > prefixCharacters) === true)
    throw new SamlRefused('transforms of the signature');
}
