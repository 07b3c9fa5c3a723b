import type { KeyObject } from 'node:crypto';
import type { JWSHeaderParameters, JWTPayload } from 'jose';
import { kidPattern, type SigningAlgorithm } from '#src/contract/signing-key.js';
import type { Clock } from '../runtime/clock.js';
import { lazy } from '../runtime/lazy.js';

/** A key with its only algorithm. */
export interface JwtKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly key: KeyObject;
}

/** Requirements for accepting a token. */
interface JwtRules {
  readonly issuer: string;
  readonly audience: string;
  readonly requiredClaims: readonly string[];
  /** The longest time between issue and use. */
  readonly longestSeconds: number;
  readonly toleranceSeconds: number;
}

/** Signs and verifies JWTs that this service issues. */
export interface Jwt {
  sign(key: JwtKey, claims: Readonly<Record<string, unknown>>): Promise<string>;
  /** Signs claims for another service with a P-256 private key in PEM that this other service has issued. Throws if the key is invalid. */
  signES256(
    key: { readonly kid: string; readonly privateKey: string },
    claims: Readonly<Record<string, unknown>>,
  ): Promise<string>;
  /** The claims of a token signed by a key with its `kid`; undefined for anything else. */
  verify(
    token: string,
    rules: JwtRules,
    find: (kid: string) => Promise<JwtKey | undefined>,
  ): Promise<JWTPayload | undefined>;
}

/** Three parts of base64url. Other input is rejected without loading the package. */
const form = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/**
 * Allowed header parameters: none that select another key or change the meaning of the rest (RFC 8725 §3.10), such as jku, jwk, x5u, x5c,
 * crit.
 */
const ownHeader: readonly string[] = ['alg', 'kid', 'typ'];

/** Creates the wrapper of the `jose` package, which is loaded with the first token. */
export function createJwt(clock: Clock): Jwt {
  const jose = lazy(() => import('jose'));
  return {
    sign: async ({ kid, alg, key }, claims) => {
      const { SignJWT } = await jose.get();
      return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(key);
    },
    signES256: async ({ kid, privateKey }, claims) => {
      const { SignJWT, importPKCS8 } = await jose.get();
      const key = await importPKCS8(privateKey, 'ES256');
      return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(key);
    },
    verify: async (token, { issuer, audience, requiredClaims, longestSeconds, toleranceSeconds }, find) => {
      if (!form.test(token) || !token.split('.').every(isCanonical)) return undefined;
      const { errors, jwtVerify } = await jose.get();
      const keyOf = async (header: JWSHeaderParameters): Promise<KeyObject> => {
        const { kid, alg } = header;
        const isOurs = Object.keys(header).every((name) => ownHeader.includes(name));
        const found = isOurs && typeof kid === 'string' && kidPattern.test(kid) ? await find(kid) : undefined;
        // The algorithm is the key's, never the token's choice (RFC 8725 §3.1).
        if (found === undefined || found.alg !== alg) throw new errors.JWSSignatureVerificationFailed();
        return found.key;
      };
      try {
        const { payload } = await jwtVerify(token, keyOf, {
          issuer,
          audience,
          typ: 'JWT',
          requiredClaims: [...requiredClaims],
          algorithms: ['HS256', 'RS256'],
          maxTokenAge: longestSeconds,
          clockTolerance: toleranceSeconds,
          currentDate: new Date(clock.now()),
        });
        return payload;
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}

/** True if the text is the canonical base64url of its bytes: the last character can have unused bits (RFC 4648 §3.5). */
function isCanonical(segment: string): boolean {
  return Buffer.from(segment, 'base64url').toString('base64url') === segment;
}
