import { createPrivateKey } from 'node:crypto';
import type { Jwt } from '#src/platform/crypto/jwt.js';
import { readJson } from '#src/platform/text/json.js';
import type { RawProfile } from '../../../external-logins/index.js';
import type { OAuth2Config } from './config.js';
import { members, type ProfileSource } from './profile.js';

/** Lifetime of a client secret for Apple, in seconds; each login creates one. */
const secretSeconds = 300;

/** True if the text is a private key of the kind that Apple issues, as PEM. */
export function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** Profile of an Apple user. The browser brings the name, only at the first login; an address from the browser is ignored. */
export function appleProfile({ claims, returned }: ProfileSource): RawProfile {
  const { name } = members(parsed(returned.user));
  const { firstName, lastName } = members(name);
  const words = [firstName, lastName].filter((word) => typeof word === 'string' && word !== '');
  return { id: claims.sub, email: claims.email, emailVerified: claims.email_verified, name: words.join(' ') };
}

/** Creates the client secret for Apple: a JWT signed with the private key that Apple has issued. */
export function appleSecret(
  jwt: Jwt,
  { clientId, clientSecret, teamId = '', keyId = '' }: OAuth2Config,
  nowMs: number,
) {
  const issued = Math.floor(nowMs / 1000);
  const claims = {
    iss: teamId,
    sub: clientId,
    aud: 'https://appleid.apple.com',
    iat: issued,
    exp: issued + secretSeconds,
  };
  return jwt.signES256({ kid: keyId, privateKey: clientSecret }, claims);
}

function parsed(text: string | undefined): unknown {
  try {
    return readJson(text ?? '');
  } catch {
    return undefined;
  }
}
