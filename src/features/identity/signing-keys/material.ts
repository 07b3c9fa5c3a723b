import { createPrivateKey, createPublicKey, createSecretKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Project } from '#src/contract/project.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import type { Runtime } from '#src/platform/index.js';
import { type PublicJwk, type SigningKey, sealedSecrets } from './store.js';

/** A generated key that is not stored yet. */
export type Material = Pick<SigningKey, 'kid' | 'alg' | 'publicJwk' | 'secret'>;

const modulusLength = 3072;
const maxCached = 1000;
const generate = promisify(generateKeyPair);

/** Generates keys, seals their secrets and caches opened keys. */
export interface KeyMaterial {
  /** Generates a key. Not inside a unit of work. */
  make(project: Project, alg: SigningAlgorithm): Promise<Material>;
  /** The key for signing; undefined, and reported, if it cannot be decrypted. */
  secretKey(project: Project, key: SigningKey): KeyObject | undefined;
  /** The key for verifying signatures. */
  publicKey(kid: string, jwk: PublicJwk): KeyObject | undefined;
}

/** Creates the service for key material. */
export function createMaterial({ random, sealing }: Pick<Runtime, 'random' | 'sealing'>): KeyMaterial {
  const aad = (row: string) => ({ column: sealedSecrets, row });
  const cache = new Map<string, KeyObject>();
  let last: Promise<unknown> = Promise.resolve();

  /** One at a time: each takes a core for a second, and a thread that the database needs too. */
  const generateRsa = () => {
    const pair = last.then(() => generate('rsa', { modulusLength }));
    last = pair.catch(() => {});
    return pair;
  };
  /** Returns the same object each time, because values derived from it are stored with it. */
  const cached = (name: string, open: () => KeyObject | undefined): KeyObject | undefined => {
    const key = cache.get(name) ?? open();
    if (key === undefined) return undefined;
    if (cache.size >= maxCached) cache.clear();
    cache.set(name, key);
    return key;
  };

  return {
    make: async (project, alg) => {
      const kid = random.id();
      const seal = (secret: string) => sealing.seal(project.id, project.dataKey, aad(kid), secret);
      if (alg === 'HS256') return { kid, alg, publicJwk: null, secret: seal(random.secret()) };
      const { publicKey, privateKey } = await generateRsa();
      const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
      return { kid, alg, publicJwk: { kty: 'RSA', n, e }, secret: seal(pem) };
    },
    secretKey: (project, { kid, alg, secret }) =>
      cached(`secret ${kid}`, () => {
        const opened = sealing.tryOpen(project.id, project.dataKey, aad(kid), secret);
        if (opened === undefined) return undefined;
        return alg === 'HS256' ? createSecretKey(Buffer.from(opened, 'base64url')) : createPrivateKey(opened);
      }),
    publicKey: (kid, jwk) => cached(`public ${kid}`, () => createPublicKey({ key: { ...jwk }, format: 'jwk' })),
  };
}
