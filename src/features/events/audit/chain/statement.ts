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

const headText = (keyId: string, { seq, hash, at }: Head) =>
  JSON.stringify(['svc.audit.head', 1, keyId, seq, hash, at]);
const segmentText = (keyId: string, { firstSeq, lastSeq, previousHash, hash, at }: Segment) =>
  JSON.stringify(['svc.audit.segment', 1, keyId, firstSeq, lastSeq, previousHash, hash, at]);

const signText = ({ id, privateKey }: Signer, text: string): Signed => ({
  keyId: id,
  signature: sign(null, Buffer.from(text), privateKey).toString('base64url'),
});
const isSigned = (keys: PublicKeys, { keyId, signature }: Signed, text: string): boolean => {
  const key = keys(keyId);
  return key !== undefined && verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'));
};

/** Signs a head. */
export function signHead(signer: Signer, head: Head): SignedHead {
  return { ...head, ...signText(signer, headText(signer.id, head)) };
}

/** Signs a segment. */
export function signSegment(signer: Signer, segment: Segment): SignedSegment {
  return { ...segment, ...signText(signer, segmentText(signer.id, segment)) };
}

/** True if a known key signed this head. */
export function isHeadGenuine(keys: PublicKeys, head: SignedHead): boolean {
  return isSigned(keys, head, headText(head.keyId, head));
}

/** True if a known key signed this segment. */
export function isSegmentGenuine(keys: PublicKeys, segment: SignedSegment): boolean {
  return isSigned(keys, segment, segmentText(segment.keyId, segment));
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
