import type { Project } from '#src/contract/project.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { digest } from '#src/platform/digest.js';

/** Signature algorithms that are asked for, by their COSE numbers, the preferred first: ES256, EdDSA, RS256. */
export const algorithms = [-7, -8, -257] as const;

/** The relying party of a project: the domain that its passkeys belong to, from settings and never from the request. */
export function relyingPartyId({ settings }: Project, baseUrl: string): string {
  const configured = settings['passkeys.rpId'];
  if (configured !== null) return configured;
  // Browsers take no addresses, only names.
  return isOnLocalhost(baseUrl) ? 'localhost' : new URL(baseUrl).hostname;
}

/** The user handle (WebAuthn L3 §5.4.3): 32 bytes that tell nothing of the user, the same for every passkey of one. */
export function userHandle(project: Project, userId: string): string {
  return digest(['passkey', project.id, userId].join('\n'));
}
