import { createPrivateKey } from 'node:crypto';
import type { Jwt } from '#src/platform/jwt.js';
import type { RawProfile } from '../../../external-logins/index.js';
import type { OAuth2Config } from '../config.js';
import { members, type ProfileSource } from './profile.js';

/** How long a client secret of Apple's is good, in seconds; each login makes its own. */
const secretSeconds = 300;

/** Whether a text is a private key of the kind that Apple issues, as PEM. */
export function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** A user of Apple. The browser brings the name, and only with the first login; what it says of the address does not count. */
export function appleProfile({ claims, returned }: ProfileSource): RawProfile {
  const { name } = members(parsed(returned.user));
  const { firstName, lastName } = members(name);
  const words = [firstName, lastName].filter((word) => typeof word === 'string' && word !== '');
  return { id: claims.sub, email: claims.email, emailVerified: claims.email_verified, name: words.join(' ') };
}

/** The client secret that Apple takes: a JWT, signed with the private key that it has issued. */
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
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
