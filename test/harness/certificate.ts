// A self-signed certificate for servers of the tests. Node can read certificates but not make them, so the few fields are put together here (X.690 DER, RFC 5280).
import { generateKeyPairSync, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** PEM texts of a certificate and its key. */
type Certificate = { cert: string; key: string };

/** What a certificate may say instead; times in milliseconds since 1970. */
export interface CertificateOptions {
  readonly bits?: number;
  readonly from?: number;
  readonly until?: number;
}

const tlv = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  // The shortest form is demanded: the number itself below 128, else how many bytes hold it.
  const header = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...header]), content]);
};
const dayMs = 86_400_000;
const sequence = (...parts: Uint8Array[]) => tlv(0x30, ...parts);
const hex = (digits: string) => Buffer.from(digits, 'hex');
const ecdsaWithSha256 = sequence(tlv(0x06, hex('2a8648ce3d040302')));
const rsaWithSha256 = sequence(tlv(0x06, hex('2a864886f70d01010b')), tlv(0x05));
const commonName = tlv(0x06, hex('550403'));
const subjectAltName = tlv(0x06, hex('551d11'));
const utcTime = (date: Date) =>
  tlv(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`, 'ascii'));

/** A host name, or an IPv4 address, as what a certificate is for. */
const alternative = (host: string) =>
  isIPv4(host) ? tlv(0x87, Buffer.from(host.split('.').map(Number))) : tlv(0x82, Buffer.from(host, 'ascii'));

/**
 * Makes a certificate for host names, valid from yesterday for a week; whoever connects must be told not to verify it. Its key is on the curve
 * P-256, or RSA of so many bits.
 */
export function selfSigned(hostnames: readonly string[], options: CertificateOptions = {}): Certificate {
  const { bits, from = Date.now() - dayMs, until = Date.now() + 6 * dayMs } = options;
  const { publicKey, privateKey } =
    bits === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: bits });
  const algorithm = bits === undefined ? ecdsaWithSha256 : rsaWithSha256;
  const name = sequence(tlv(0x31, sequence(commonName, tlv(0x0c, Buffer.from(hostnames[0] ?? 'test')))));
  const alternatives = sequence(...hostnames.map(alternative));
  const content = sequence(
    tlv(0xa0, tlv(0x02, hex('02'))),
    tlv(0x02, hex('01')),
    algorithm,
    name,
    sequence(utcTime(new Date(from)), utcTime(new Date(until))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(sequence(subjectAltName, tlv(0x04, alternatives)))),
  );
  const signature = tlv(0x03, hex('00'), sign('sha256', content, privateKey));
  const lines = sequence(content, algorithm, signature)
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
