import { constants, createDecipheriv, type KeyObject, privateDecrypt } from 'node:crypto';
import { childrenOf, elementsOf, onlyChildOf, textOf, withDescendants, xmlAttribute } from './dom.js';
import type { XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

const xmlenc = 'http://www.w3.org/2001/04/xmlenc#';
const xmlenc11 = 'http://www.w3.org/2009/xmlenc11#';
const sha1 = 'http://www.w3.org/2000/09/xmldsig#sha1';

/** XML Encryption 1.1 §5.2.4. AES-CBC and Triple DES are excluded: their ciphertexts can be modified unnoticed (§6.1.1). */
const contentMethods: ReadonlyMap<string, ContentMethod> = new Map([
  [`${xmlenc11}aes128-gcm`, { cipher: 'aes-128-gcm', keyBytes: 16 }],
  [`${xmlenc11}aes256-gcm`, { cipher: 'aes-256-gcm', keyBytes: 32 }],
]);
const digestMethods = new Map([
  [sha1, 'sha1'],
  [`${xmlenc}sha256`, 'sha256'],
]);
const maskMethods = new Map([
  [`${xmlenc11}mgf1sha1`, 'sha1'],
  [`${xmlenc11}mgf1sha256`, 'sha256'],
]);
const nonceBytes = 12;
const tagBytes = 16;
const decoder = new TextDecoder('utf-8', { fatal: true });

interface ContentMethod {
  readonly cipher: 'aes-128-gcm' | 'aes-256-gcm';
  readonly keyBytes: number;
}

/**
 * Decrypts an encrypted assertion (SAML core §2.3.4). It need not have been signed by anyone. The unencrypted parts of the document alone
 * decide which method is refused. All later errors have the single reason `decryption`, so that nothing reveals whether the key or the text
 * was wrong (XML Encryption 1.1 §6.1.1). Throws SamlRefused.
 *
 * Rejected: xml-encryption, which samlify uses. It accepts any `EncryptedKey` of the document, treats the standard's name of SHA-256 as
 * SHA-1, and does not support RSA-OAEP of XML Encryption 1.1. Its remaining functionality is two calls of Node's crypto.
 */
export function decryptedText(assertion: XmlElement, key: KeyObject | undefined): string {
  const data = onlyChildOf(assertion, 'encryption', 'EncryptedData');
  const [wrapped, ...others] = withDescendants(assertion).filter(({ localName }) => localName === 'EncryptedKey');
  if (data === undefined || wrapped === undefined || others.length > 0 || !isPlaced(wrapped, data, assertion))
    throw new SamlRefused('form of the encryption');
  const method = contentMethods.get(methodOf(data).algorithm);
  const hash = hashOf(wrapped);
  if (method === undefined || hash === undefined) throw new SamlRefused('algorithm of the encryption');
  const [wrappedKey, content] = [cipherValueOf(wrapped), cipherValueOf(data)];
  try {
    return decoder.decode(decrypted(content, method, unwrapped(wrappedKey, hash, method, key)));
  } catch {
    throw new SamlRefused('decryption');
  }
}

/** True if the key is in the `KeyInfo` of the data or next to the data. */
function isPlaced(wrapped: XmlElement, data: XmlElement, assertion: XmlElement): boolean {
  const info = onlyChildOf(data, 'signature', 'KeyInfo');
  return [assertion, ...(info === undefined ? [] : [info])].some((place) =>
    childrenOf(place, 'encryption', 'EncryptedKey').includes(wrapped),
  );
}

function methodOf(element: XmlElement): { readonly algorithm: string; readonly parameters: readonly XmlElement[] } {
  const method = onlyChildOf(element, 'encryption', 'EncryptionMethod');
  if (method === undefined) throw new SamlRefused('form of the encryption');
  return { algorithm: xmlAttribute(method, 'Algorithm') ?? '', parameters: elementsOf(method) };
}

/** The hash of RSA-OAEP. Undefined for any other method, and if its mask uses a different hash, which Node does not support. */
function hashOf(wrapped: XmlElement): string | undefined {
  const { algorithm, parameters } = methodOf(wrapped);
  const isOaep = algorithm === `${xmlenc}rsa-oaep-mgf1p` || algorithm === `${xmlenc11}rsa-oaep`;
  const named = (name: string) => parameters.filter(({ localName }) => localName === name);
  const [digests, masks] = [named('DigestMethod'), named('MGF')];
  if (!isOaep || digests.length > 1 || masks.length > 1 || digests.length + masks.length !== parameters.length)
    return undefined;
  const [digest] = digests.map((one) => xmlAttribute(one, 'Algorithm') ?? '');
  // SHA-1 if absent (§5.5.2). The older method name always implies a mask with SHA-1.
  const [mask] = masks.map((one) => xmlAttribute(one, 'Algorithm') ?? '');
  const hash = digestMethods.get(digest ?? sha1);
  const isOlder = algorithm === `${xmlenc}rsa-oaep-mgf1p`;
  if (isOlder && mask !== undefined) return undefined;
  return maskMethods.get(mask ?? `${xmlenc11}mgf1sha1`) === hash ? hash : undefined;
}

/** The bytes in the document itself; references to external data are never followed. */
function cipherValueOf(element: XmlElement): Buffer {
  const data = onlyChildOf(element, 'encryption', 'CipherData');
  const value = data && textOf(onlyChildOf(data, 'encryption', 'CipherValue'));
  const compact = value?.replace(/\s/g, '') ?? '';
  const bytes = Buffer.from(compact, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== compact) throw new SamlRefused('form of the encryption');
  return bytes;
}

function unwrapped(bytes: Buffer, oaepHash: string, { keyBytes }: ContentMethod, key: KeyObject | undefined): Buffer {
  if (key === undefined) throw new SamlRefused('decryption');
  const opened = privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, bytes);
  if (opened.length !== keyBytes) throw new SamlRefused('decryption');
  return opened;
}

function decrypted(content: Buffer, { cipher }: ContentMethod, key: Buffer): Buffer {
  const nonce = content.subarray(0, nonceBytes);
  const decipher = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(content.subarray(Math.max(nonceBytes, content.length - tagBytes)));
  return Buffer.concat([decipher.update(content.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}
