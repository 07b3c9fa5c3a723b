import { createPublicKey, type JsonWebKey } from 'node:crypto';

/** A public key as authenticators send it (COSE, RFC 9052 §7), by the numbers of its members. */
interface CoseKey {
  get(label: number): unknown;
}

const [keyType, algorithm, curve] = [1, 3, -1];
/** The least of the key length that RFC 8017 keys are accepted with (NIST SP 800-131A). */
const leastRsaBits = 2048;
const coordinateBytes = 32;

/**
 * Whether signatures can be verified by a key: of the type and on the curve that its algorithm wants (RFC 9053 §2), with every member, a point of
 * the curve, and for RSA of 2048 bits with an odd exponent of at least 3.
 */
export function isUsableKey(key: CoseKey): boolean {
  const jwk = jwkOf(key);
  if (jwk === undefined) return false;
  try {
    const { modulusLength, publicExponent } = createPublicKey({ key: jwk, format: 'jwk' }).asymmetricKeyDetails ?? {};
    if (jwk.kty !== 'RSA') return true;
    const isOdd = publicExponent !== undefined && publicExponent >= 3n && publicExponent % 2n === 1n;
    return isOdd && (modulusLength ?? 0) >= leastRsaBits;
  } catch {
    // It is no key: members are missing, or the point is not on the curve.
    return false;
  }
}

/** The key as a JWK; undefined where type or curve are not those of its algorithm. */
function jwkOf(key: CoseKey): JsonWebKey | undefined {
  const bytes = (label: number): Buffer => {
    const value = key.get(label);
    return value instanceof Uint8Array ? Buffer.from(value) : Buffer.alloc(0);
  };
  const text = (label: number): string => bytes(label).toString('base64url');
  const isOfType = (type: number, itsCurve: number): boolean =>
    key.get(keyType) === type && key.get(curve) === itsCurve;
  const areCoordinates = (...labels: number[]): boolean =>
    labels.every((label) => bytes(label).length === coordinateBytes);
  switch (key.get(algorithm)) {
    case -7:
      if (!isOfType(2, 1) || !areCoordinates(-2, -3)) return undefined;
      return { kty: 'EC', crv: 'P-256', x: text(-2), y: text(-3) };
    case -8:
      if (!isOfType(1, 6) || !areCoordinates(-2)) return undefined;
      return { kty: 'OKP', crv: 'Ed25519', x: text(-2) };
    case -257:
      return key.get(keyType) === 3 ? { kty: 'RSA', n: text(-1), e: text(-2) } : undefined;
    default:
      return undefined;
  }
}
