import { createHmac } from 'node:crypto';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';

/** Bytes of credential ids as common authenticators make them, each as often as among 16 passkeys. */
const idLengths = [16, 16, 16, 16, 16, 20, 20, 20, 20, 20, 20, 32, 32, 32, 48, 64] as const;
/** How many passkeys users have, likewise. */
const counts = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3] as const;

/**
 * A public key (ES256, COSE) whose private key nobody has. What is signed for no passkey of ours is verified against it, so that a login takes
 * as long where there is no such passkey.
 */
export const decoyPublicKey =
  'pQECAyYgASFYIDjI1ExNS8xXmpcU3DXSTPqO1GeUq3osp3os6GgGVN8OIlggo7hRFE6O1xuBnY2MfcHs6FmsprMbE2JG7LPEEpX6FrQ';

/**
 * Credential ids for addresses that have no passkey (WebAuthn L3 §14.6.2). They stay the same for an address, as those of a user do, and
 * nobody can tell them from real ones without the key.
 */
export function createDecoys({ sealing }: Pick<Runtime, 'sealing'>) {
  const key = sealing.derive('passkey-decoys');
  const bytesFor = (parts: readonly string[]): Buffer => createHmac('sha512', key).update(parts.join('\n')).digest();
  const pick = <T>(list: readonly T[], byte: number | undefined): T | undefined => list[(byte ?? 0) % list.length];
  return (project: Project, email: string): string[] => {
    const seed = bytesFor([project.id, email]);
    return Array.from({ length: pick(counts, seed[0]) ?? 1 }, (_, index) =>
      bytesFor([project.id, email, String(index)])
        .subarray(0, pick(idLengths, seed[index + 1]))
        .toString('base64url'),
    );
  };
}
