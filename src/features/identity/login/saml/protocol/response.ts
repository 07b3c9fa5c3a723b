import { samlLimits } from '#src/contract/limits.js';
import { readAssertion, type VerifiedAssertion } from './assertion.js';
import { childrenOf, isNamed, onlyChildOf, parseXml, textOf, withDescendants, xmlAttribute } from './dom.js';
import { decryptedText } from './encryption.js';
import type { Expectation } from './expectation.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';
import { checkForm, verifiedText } from './signature.js';

const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
/** Status codes of SAML core §3.2.2.2. The status is not signed, so nothing else of it is passed on. */
const knownStatus = /^urn:oasis:names:tc:SAML:2\.0:status:([A-Za-z]{1,40})$/;
const ncName = /^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** A document with its assertion. */
interface Holder {
  readonly xml: string;
  readonly assertion: XmlElement;
}

/**
 * Verifies a response (SAML core §3.3.3, profiles §4.1.4) and returns the contents of its assertion. All returned data is read from the
 * canonical bytes signed by a key of the provider, never from the rest of the document. Throws SamlRefused.
 */
export function verifyResponse(encoded: string, expectation: Expectation): VerifiedAssertion {
  const xml = decode(encoded);
  const root = parseXml(xml);
  if (!isNamed(root, 'protocol', 'Response')) throw new SamlRefused('no response');
  const all = withDescendants(root);
  requireDistinctIds(all);
  requireSuccess(root);
  const sent = theAssertion(root, all);
  const isEncrypted = isNamed(sent, 'assertion', 'EncryptedAssertion');
  const ofResponse = onlyChildOf(root, 'signature', 'Signature');
  requireSignatures(all, (isEncrypted ? 0 : 1) + (ofResponse === undefined ? 0 : 1));
  const checkedResponse = ofResponse === undefined ? undefined : checkForm(ofResponse, root);
  const { keys } = expectation;
  // The signature of the response covers the assertion as it was received, still encrypted.
  const head = checkedResponse === undefined ? root : parseXml(verifiedText(xml, checkedResponse, keys));
  requireHead(head, expectation);
  // SAML bindings §3.5.5.2 and profiles §4.1.4.2: destination and issuer may be missing only in a response that is neither signed nor encrypted.
  // Its assertion always names the recipient and the issuer.
  const isBare = checkedResponse === undefined && !isEncrypted;
  if (!isBare || xmlAttribute(head, 'Destination') !== undefined) requireDestination(head, expectation);
  if (!isBare || childrenOf(head, 'assertion', 'Issuer').length > 0) requireIssuer(head, expectation);
  return readAssertion(
    signedAssertion(isEncrypted ? decryptedHolder(sent, all, expectation) : { xml, assertion: sent }, keys),
    expectation,
  );
}

/** Decrypts the assertion into its own document, which must meet the same requirements as an unencrypted one. */
function decryptedHolder(sent: XmlElement, around: readonly XmlElement[], { decryptionKey }: Expectation): Holder {
  const xml = decryptedText(sent, decryptionKey);
  const assertion = parseXml(xml);
  const all = withDescendants(assertion);
  requireDistinctIds([...around, ...all]);
  if (!isNamed(assertion, 'assertion', 'Assertion') || all.filter(isAssertion).length !== 1)
    throw new SamlRefused('number or place of assertions');
  requireSignatures(all, 1);
  return { xml, assertion };
}

/** The assertion in the form that its signature covers. */
function signedAssertion({ xml, assertion }: Holder, keys: Expectation['keys']): XmlElement {
  requireId(assertion);
  const signature = onlyChildOf(assertion, 'signature', 'Signature');
  if (signature === undefined) throw new SamlRefused('number or place of signatures');
  const signed = parseXml(verifiedText(xml, checkForm(signature, assertion), keys));
  if (xmlAttribute(signed, 'ID') !== xmlAttribute(assertion, 'ID')) throw new SamlRefused('reference of the signature');
  return signed;
}

/** Base64 of RFC 2045 §6.8 with optional line breaks, otherwise in canonical form. */
function decode(encoded: string): string {
  const compact = encoded.replace(/[\r\n]/g, '');
  if (compact.length > Math.ceil(samlLimits.bytes / 3) * 4) throw new SamlRefused('too large or too deep');
  const bytes = Buffer.from(compact, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== compact) throw new SamlRefused('not base64');
  if (bytes.length > samlLimits.bytes) throw new SamlRefused('too large or too deep');
  try {
    return decoder.decode(bytes);
  } catch {
    throw new SamlRefused('not utf-8');
  }
}

/** Wrapping attacks rely on two elements with the same id. Any spelling of the attribute counts. */
function requireDistinctIds(all: readonly XmlElement[]): void {
  const ids = all.flatMap(({ attributes }) =>
    Array.from(attributes)
      .filter(({ name, localName }) => (localName ?? name).toLowerCase() === 'id')
      .map(({ value }) => value),
  );
  if (new Set(ids).size !== ids.length) throw new SamlRefused('repeated id');
}

function requireSuccess(root: XmlElement): void {
  const status = onlyChildOf(root, 'protocol', 'Status');
  const code = status && onlyChildOf(status, 'protocol', 'StatusCode');
  const value = code && xmlAttribute(code, 'Value');
  if (code === undefined || value === undefined) throw new SamlRefused('no response');
  if (value === success) return;
  const second = onlyChildOf(code, 'protocol', 'StatusCode');
  const said = (second && xmlAttribute(second, 'Value')) ?? value;
  throw new SamlRefused('status', knownStatus.exec(said)?.[1] ?? 'another');
}

/** The only assertion of the document, encrypted or not, as a direct child of the response. */
function theAssertion(root: XmlElement, all: readonly XmlElement[]): XmlElement {
  const plain = childrenOf(root, 'assertion', 'Assertion');
  const [assertion, ...others] = [...plain, ...childrenOf(root, 'assertion', 'EncryptedAssertion')];
  if (assertion === undefined || others.length > 0 || all.filter(isAssertion).length !== 1)
    throw new SamlRefused('number or place of assertions');
  requireId(root);
  return assertion;
}

/** Matches the name in any namespace. */
function isAssertion({ localName }: XmlElement): boolean {
  return localName === 'Assertion' || localName === 'EncryptedAssertion';
}

function requireId(element: XmlElement): void {
  if (!ncName.test(xmlAttribute(element, 'ID') ?? '')) throw new SamlRefused('reference of the signature');
}

/** Requires exactly the expected number of elements with this name, in any namespace. */
function requireSignatures(all: readonly XmlElement[], expected: number): void {
  if (all.filter(({ localName }) => localName === 'Signature').length !== expected)
    throw new SamlRefused('number or place of signatures');
}

/** Checks the response apart from its assertion; if it is signed, the signed form. */
function requireHead(head: XmlElement, { requestId }: Expectation): void {
  if (xmlAttribute(head, 'Version') !== '2.0') throw new SamlRefused('version');
  if ((xmlAttribute(head, 'InResponseTo') ?? null) !== requestId) throw new SamlRefused('in response to');
}

function requireDestination(head: XmlElement, { destination }: Expectation): void {
  if (xmlAttribute(head, 'Destination') !== destination) throw new SamlRefused('destination');
}

function requireIssuer(head: XmlElement, { issuer }: Expectation): void {
  if (textOf(onlyChildOf(head, 'assertion', 'Issuer')) !== issuer) throw new SamlRefused('issuer');
}
