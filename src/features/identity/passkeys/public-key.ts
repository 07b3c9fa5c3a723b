import { createPublicKey, type JsonWebKey } from 'node:crypto';

/** A public key as authenticators send it (COSE, RFC 9052 §7), by member labels. */
interface CoseKey {
  get(label: number): unknown;
}

const [keyType, algorithm, curve] = [1, 3, -1];
/** Minimum length of RSA keys (RFC 8017, NIST SP 800-131A). */
const leastRsaBits = 2048;
const coordinateBytes = 32;

/**
 * True if signatures can be verified with the key. Type and curve must match its algorithm (RFC 9053 §2), all members must be present and a
 * point must be on the curve. RSA keys need 2048 bits and an odd exponent of at least 3.
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
    // Invalid key: members are missing or the point is not on the curve.
    return false;
  }
}

/** The key as a JWK; undefined if type or curve do not match its algorithm. */
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
