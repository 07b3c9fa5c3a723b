import { createHmac } from 'node:crypto';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { DescribedCredential } from '../../passkeys/index.js';

const synced = { bytes: 16, transports: ['hybrid', 'internal'] } as const;
const phone = { bytes: 20, transports: ['hybrid', 'internal'] } as const;
const computer = { bytes: 32, transports: ['internal'] } as const;
/** Credential id lengths and transports of common authenticators, in their proportions among 16 passkeys. */
const authenticators = [
  ...[synced, synced, synced, synced, { bytes: 16, transports: ['internal'] }],
  ...[phone, phone, phone, phone, phone, phone],
  ...[computer, computer, computer],
  { bytes: 48, transports: ['usb'] },
  { bytes: 64, transports: ['nfc', 'usb'] },
] as const;
/** Numbers of passkeys per user, in their proportions among 16 users. */
const counts = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3] as const;

/**
 * A public key (ES256, COSE) without a known private key. If there is no matching passkey, the signature is verified against it, so that
 * the login takes as long as any other.
 */
export const decoyPublicKey =
  'pQECAyYgASFYIDjI1ExNS8xXmpcU3DXSTPqO1GeUq3osp3os6GgGVN8OIlggo7hRFE6O1xuBnY2MfcHs6FmsprMbE2JG7LPEEpX6FrQ';

/**
 * Credentials for addresses that have no passkey (WebAuthn L3 §14.6.2). They stay the same for an address, like those of a user. Without
 * the key they cannot be distinguished from real ones.
 */
export function createDecoys({ sealing }: Pick<Runtime, 'sealing'>) {
  const key = sealing.derive('passkey-decoys');
  const bytesFor = (parts: readonly string[]): Buffer => createHmac('sha512', key()).update(parts.join('\n')).digest();
  const pick = <T>(list: readonly T[], byte: number | undefined): T | undefined => list[(byte ?? 0) % list.length];
  return (project: Project, email: string): DescribedCredential[] => {
    const seed = bytesFor([project.id, email]);
    return Array.from({ length: pick(counts, seed[0]) ?? 1 }, (_, index) => {
      const { bytes, transports } = pick(authenticators, seed[index + 1]) ?? phone;
      const credentialId = bytesFor([project.id, email, String(index)])
        .subarray(0, bytes)
        .toString('base64url');
      return { credentialId, transports };
    });
  };
}
