// Encrypts assertions as XML Encryption 1.1 says, by the parts that a test wants: with methods that are refused, too.
import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';
import type { TestAppliance } from '../harness/appliance.js';
import { createBrowser } from '../oauth2/browser.js';
import { takenApart } from './forge.js';
import { entityIdOf } from './setup.js';

const xmlenc = 'http://www.w3.org/2001/04/xmlenc#';
const xmlenc11 = 'http://www.w3.org/2009/xmlenc11#';
const xmldsig = 'http://www.w3.org/2000/09/xmldsig#';

/** The names of the methods. */
export const methods = {
  gcm128: `${xmlenc11}aes128-gcm`,
  gcm256: `${xmlenc11}aes256-gcm`,
  cbc128: `${xmlenc}aes128-cbc`,
  cbc256: `${xmlenc}aes256-cbc`,
  tripleDes: `${xmlenc}tripledes-cbc`,
  oaep: `${xmlenc}rsa-oaep-mgf1p`,
  oaep11: `${xmlenc11}rsa-oaep`,
  pkcs1: `${xmlenc}rsa-1_5`,
} as const;
const ciphers: Readonly<Record<string, readonly [cipher: string, keyBytes: number, ivBytes: number]>> = {
  [methods.gcm128]: ['aes-128-gcm', 16, 12],
  [methods.gcm256]: ['aes-256-gcm', 32, 12],
  [methods.cbc128]: ['aes-128-cbc', 16, 16],
  [methods.cbc256]: ['aes-256-cbc', 32, 16],
  [methods.tripleDes]: ['des-ede3-cbc', 24, 8],
};
const digests: Readonly<Record<string, string>> = { sha1: `${xmldsig}sha1`, sha256: `${xmlenc}sha256` };

/** How an assertion is encrypted. */
export interface Encryption {
  /** For whom, as PEM. */
  readonly certificate: string;
  readonly content?: string;
  readonly wrap?: string;
  readonly hash?: 'sha1' | 'sha256';
  /** The name of the hash that the document says; the right one where absent. */
  readonly digest?: string | null;
  /** Where the encrypted key stands. */
  readonly beside?: boolean;
}

/** An assertion, or whatever is to pass for one, as an encrypted one. */
export function encryptedAssertion(text: string | Buffer, options: Encryption): string {
  const { certificate, content = methods.gcm256, wrap = methods.oaep, beside = false } = options;
  const { hash = wrap === methods.oaep11 ? 'sha256' : 'sha1' } = options;
  const [cipher, keyBytes, ivBytes] = ciphers[content] ?? ['aes-256-gcm', 32, 12];
  const [key, iv] = [randomBytes(keyBytes), randomBytes(ivBytes)];
  const encryptor = createCipheriv(cipher as 'aes-256-gcm', key, iv);
  const isGcm = cipher.endsWith('gcm');
  const bytes = Buffer.from(text as string);
  const left = ivBytes - (bytes.length % ivBytes);
  const filled = isGcm ? bytes : Buffer.concat([bytes, randomBytes(left - 1), Buffer.from([left])]);
  if (!isGcm) (encryptor as unknown as { setAutoPadding(on: boolean): void }).setAutoPadding(false);
  const body = Buffer.concat([iv, encryptor.update(filled), encryptor.final()]);
  const value = isGcm ? Buffer.concat([body, encryptor.getAuthTag()]) : body;
  const isOaep = wrap !== methods.pkcs1;
  const rsaPadding = isOaep ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING;
  const wrapped = publicEncrypt({ key: certificate, padding: rsaPadding, ...(isOaep ? { oaepHash: hash } : {}) }, key);
  const digest = options.digest === undefined ? digests[hash] : options.digest;
  const parameters = [
    ...(isOaep && digest ? [`<ds:DigestMethod xmlns:ds="${xmldsig}" Algorithm="${digest}"/>`] : []),
    ...(wrap === methods.oaep11 ? [`<e11:MGF xmlns:e11="${xmlenc11}" Algorithm="${xmlenc11}mgf1${hash}"/>`] : []),
  ].join('');
  const data = (of: Buffer) =>
    `<xenc:CipherData><xenc:CipherValue>${of.toString('base64').replace(/.{64}/g, '$&\n')}</xenc:CipherValue></xenc:CipherData>`;
  const encryptedKey = `<xenc:EncryptedKey xmlns:xenc="${xmlenc}"><xenc:EncryptionMethod Algorithm="${wrap}">${parameters}</xenc:EncryptionMethod>${data(wrapped)}</xenc:EncryptedKey>`;
  const keyInfo = beside ? '' : `<ds:KeyInfo xmlns:ds="${xmldsig}">${encryptedKey}</ds:KeyInfo>`;
  const encryptedData = `<xenc:EncryptedData xmlns:xenc="${xmlenc}" Type="${xmlenc}Element"><xenc:EncryptionMethod Algorithm="${content}"/>${keyInfo}${data(value)}</xenc:EncryptedData>`;
  return `<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${encryptedData}${beside ? encryptedKey : ''}</saml:EncryptedAssertion>`;
}

/** The assertion of a document as one of its own: with the namespace that is declared around it. */
export const standalone = (assertion: string) =>
  assertion.replace('<saml:Assertion', '<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"');

/** A signed document with its assertion encrypted. */
export function encryptedDocument(xml: string, options: Encryption): string {
  const { assertion, around } = takenApart(xml);
  return around(encryptedAssertion(standalone(assertion), options));
}

/** The certificates that our metadata publishes for a provider, as PEM. */
export async function publishedOf(target: TestAppliance, key: string) {
  const { text } = await createBrowser(target).step(entityIdOf(key));
  const of = (use: string) => {
    const descriptor = new RegExp(`<KeyDescriptor use="${use}">[\\s\\S]*?<ds:X509Certificate>([^<]+)<`).exec(text);
    const lines = descriptor?.[1]?.match(/.{1,64}/g)?.join('\n');
    return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
  };
  return { encryption: of('encryption'), signing: of('signing'), text };
}
