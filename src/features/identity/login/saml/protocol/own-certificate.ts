// The package below asks for it before it is loaded itself.
import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';

/** A private key of ours and the certificate that publishes it, as PEM. */
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
/** Identity providers pin the key; one that looks at the certificate should not find it expired. */
const lifeMs = 20 * 365 * dayMs;

/** Makes an RSA key with a certificate that it signs itself. The name serves people who look at the certificate, and nothing else. */
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
