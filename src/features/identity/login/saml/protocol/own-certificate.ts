// Imported first, because the package below requires it at load time.
import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';

/** One of our private keys with its certificate, as PEM. */
export interface OwnCertificate {
  readonly privateKey: string;
  readonly certificate: string;
}

const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 3072,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;
const dayMs = 86_400_000;
/** Identity providers pin the key. Those that check the certificate should not find it expired. */
const lifeMs = 20 * 365 * dayMs;

/** Generates an RSA key with a self-signed certificate. The name only helps people who look at the certificate. */
export async function makeOwnCertificate(name: string, nowMs: number): Promise<OwnCertificate> {
  const keys = await webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [name] }],
      notBefore: new Date(nowMs - dayMs),
      notAfter: new Date(nowMs + lifeMs),
      signingAlgorithm: rsa,
      keys,
    },
    webcrypto,
  );
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    certificate: certificate.toString('pem'),
  };
}
