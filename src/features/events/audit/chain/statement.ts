import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** An Ed25519 signature, with the id of its key. */
interface Signed {
  readonly keyId: string;
  readonly signature: string;
}

/** The length of the chain and the hash of its last entry. */
export interface Head {
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
}

/** A range of entries that may have been removed: their numbers, the hash before them, and the hash of the last one. */
export interface Segment {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly previousHash: string;
  readonly hash: string;
  readonly at: string;
}

/** A head with its signature. */
export type SignedHead = Head & Signed;
/** A segment with its signature. */
export type SignedSegment = Segment & Signed;

/** A private key and its id. */
export interface Signer {
  readonly id: string;
  readonly privateKey: KeyObject;
}

/** Finds a public key by its id; undefined if it is unknown. */
export type PublicKeys = (keyId: string) => KeyObject | undefined;

/** The bytes that a signature covers. */
function signedBytes(keyId: string, stated: Head | Segment): Buffer {
  const { hash, at } = stated;
  const parts =
    'seq' in stated
      ? ['svc.audit.head', 1, keyId, stated.seq, hash, at]
      : ['svc.audit.segment', 1, keyId, stated.firstSeq, stated.lastSeq, stated.previousHash, hash, at];
  return Buffer.from(JSON.stringify(parts));
}

/** Signs a head or a segment. */
export function signStatement<T extends Head | Segment>({ id, privateKey }: Signer, stated: T): T & Signed {
  return { ...stated, keyId: id, signature: sign(null, signedBytes(id, stated), privateKey).toString('base64url') };
}

/** True if a known key signed this head or segment. */
export function isGenuine(keys: PublicKeys, stated: SignedHead | SignedSegment): boolean {
  const key = keys(stated.keyId);
  const signature = Buffer.from(stated.signature, 'base64url');
  return key !== undefined && verify(null, signedBytes(stated.keyId, stated), key, signature);
}

/** The public part of an Ed25519 key: 32 bytes in base64url, as in the member `x` of RFC 8037. */
export function publicTextOf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '';
}

/** Parses a public key; undefined if the text is invalid. */
export function publicKeyOf(text: string): KeyObject | undefined {
  if (!/^[A-Za-z0-9_-]{43}$/.test(text)) return undefined;
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' });
  } catch {
    return undefined;
  }
}
