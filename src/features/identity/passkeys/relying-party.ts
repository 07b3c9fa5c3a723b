import type { Project } from '#src/contract/project.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { digest } from '#src/platform/crypto/digest.js';

/** COSE numbers of the requested signature algorithms in order of preference: ES256, EdDSA, RS256. */
export const algorithms = [-7, -8, -257] as const;

/** The relying party id of a project: the domain of its passkeys. Taken from the settings, never from the request. */
export function relyingPartyId({ settings }: Project, baseUrl: string): string {
  const configured = settings['passkeys.rpId'];
  if (configured !== null) return configured;
  // Browsers accept only names, no IP addresses.
  return isOnLocalhost(baseUrl) ? 'localhost' : new URL(baseUrl).hostname;
}

/** The user handle (WebAuthn L3 §5.4.3): 32 opaque bytes, the same for all passkeys of a user. */
export function userHandle(project: Project, userId: string): string {
  return digest(['passkey', project.id, userId].join('\n'));
}
