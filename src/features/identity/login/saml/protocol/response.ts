import { samlLimits } from '#src/contract/limits.js';
import { readAssertion, type VerifiedAssertion } from './assertion.js';
import { attributeOf, childrenOf, isNamed, onlyChildOf, parseXml, textOf, withDescendants } from './dom.js';
import { decryptedText } from './encryption.js';
import type { Expectation } from './expectation.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';
import { checkForm, verifiedText } from './signature.js';

const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
/** Those of SAML core §3.2.2.2; nobody has signed it, so nothing else of it is passed on. */
const knownStatus = /^urn:oasis:names:tc:SAML:2\.0:status:([A-Za-z]{1,40})$/;
const ncName = /^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** A document that holds an assertion. */
interface Holder {
  readonly xml: string;
  readonly assertion: XmlElement;
}

/**
 * Verifies a response (SAML core §3.3.3, profiles §4.1.4) and returns what its assertion says. Everything that is returned was read from the
 * canonical bytes that a key of the provider has signed, never from the document around them. Throws SamlRefused.
 */
export function verifyResponse(encoded: string, expectation: Expectation): VerifiedAssertion {
  const xml = decode(encoded);
  const root = parseXml(xml);
  if (!isNamed(root, 'protocol', 'Response')) throw new SamlRefused('no response');
  const all = withDescendants(root);
  demandDistinctIds(all);
  demandSuccess(root);
  const sent = theAssertion(root, all);
  const isEncrypted = isNamed(sent, 'assertion', 'EncryptedAssertion');
  const ofResponse = onlyChildOf(root, 'signature', 'Signature');
  demandSignatures(all, (isEncrypted ? 0 : 1) + (ofResponse === undefined ? 0 : 1));
  const checkedResponse = ofResponse === undefined ? undefined : checkForm(ofResponse, root);
  const { keys } = expectation;
  // The signature of the response covers what was received: the assertion as it was encrypted.
  demandHead(checkedResponse === undefined ? root : parseXml(verifiedText(xml, checkedResponse, keys)), expectation);
  return readAssertion(
    signedAssertion(isEncrypted ? decryptedHolder(sent, all, expectation) : { xml, assertion: sent }, keys),
    expectation,
  );
}

/** The assertion that was encrypted, as a document of its own, of which the same is demanded as of one that was not. */
function decryptedHolder(sent: XmlElement, around: readonly XmlElement[], { decryptionKey }: Expectation): Holder {
  const xml = decryptedText(sent, decryptionKey);
  const assertion = parseXml(xml);
  const all = withDescendants(assertion);
  demandDistinctIds([...around, ...all]);
  if (!isNamed(assertion, 'assertion', 'Assertion') || all.filter(isAssertion).length !== 1)
    throw new SamlRefused('number or place of assertions');
  demandSignatures(all, 1);
  return { xml, assertion };
}

/** The assertion as its signature covers it. */
function signedAssertion({ xml, assertion }: Holder, keys: Expectation['keys']): XmlElement {
  demandId(assertion);
  const signature = onlyChildOf(assertion, 'signature', 'Signature');
  if (signature === undefined) throw new SamlRefused('number or place of signatures');
  const signed = parseXml(verifiedText(xml, checkForm(signature, assertion), keys));
  if (attributeOf(signed, 'ID') !== attributeOf(assertion, 'ID')) throw new SamlRefused('reference of the signature');
  return signed;
}

/** Base64 of RFC 2045 §6.8, whose lines may be broken, in its one canonical form. */
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

/** Two elements with one id are what wrapping attacks live on; any spelling of the attribute counts. */
function demandDistinctIds(all: readonly XmlElement[]): void {
  const ids = all.flatMap(({ attributes }) =>
    Array.from(attributes)
      .filter(({ name, localName }) => (localName ?? name).toLowerCase() === 'id')
      .map(({ value }) => value),
  );
  if (new Set(ids).size !== ids.length) throw new SamlRefused('repeated id');
}

function demandSuccess(root: XmlElement): void {
  const status = onlyChildOf(root, 'protocol', 'Status');
  const code = status && onlyChildOf(status, 'protocol', 'StatusCode');
  const value = code && attributeOf(code, 'Value');
  if (code === undefined || value === undefined) throw new SamlRefused('no response');
  if (value === success) return;
  const second = onlyChildOf(code, 'protocol', 'StatusCode');
  const said = (second && attributeOf(second, 'Value')) ?? value;
  throw new SamlRefused('status', knownStatus.exec(said)?.[1] ?? 'another');
}

/** The only assertion of the whole document, encrypted or not, right below the response. */
function theAssertion(root: XmlElement, all: readonly XmlElement[]): XmlElement {
  const plain = childrenOf(root, 'assertion', 'Assertion');
  const [assertion, ...others] = [...plain, ...childrenOf(root, 'assertion', 'EncryptedAssertion')];
  if (assertion === undefined || others.length > 0 || all.filter(isAssertion).length !== 1)
    throw new SamlRefused('number or place of assertions');
  demandId(root);
  return assertion;
}

/** Whatever is called so, in any namespace. */
function isAssertion({ localName }: XmlElement): boolean {
  return localName === 'Assertion' || localName === 'EncryptedAssertion';
}

function demandId(element: XmlElement): void {
  if (!ncName.test(attributeOf(element, 'ID') ?? '')) throw new SamlRefused('reference of the signature');
}

/** No other element than the signatures that count may be called so. */
function demandSignatures(all: readonly XmlElement[], expected: number): void {
  if (all.filter(({ localName }) => localName === 'Signature').length !== expected)
    throw new SamlRefused('number or place of signatures');
}

/** What the response says besides its assertion; the same is demanded of what is signed. */
function demandHead(head: XmlElement, { issuer, destination, requestId }: Expectation): void {
  if (attributeOf(head, 'Version') !== '2.0') throw new SamlRefused('version');
  if (textOf(onlyChildOf(head, 'assertion', 'Issuer')) !== issuer) throw new SamlRefused('issuer');
  if (attributeOf(head, 'Destination') !== destination) throw new SamlRefused('destination');
  if ((attributeOf(head, 'InResponseTo') ?? null) !== requestId) throw new SamlRefused('in response to');
}
