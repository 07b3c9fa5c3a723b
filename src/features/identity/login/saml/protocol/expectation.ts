import type { KeyObject } from 'node:crypto';

/** What a response has to say to count. */
export interface Expectation {
  /** The entity id of the identity provider, and the keys by which it signs. */
  readonly issuer: string;
  readonly keys: readonly KeyObject[];
  /** Our key for which assertions are encrypted; undefined where the provider cannot know one. */
  readonly decryptionKey: KeyObject | undefined;
  /** Our entity id, and the address to which responses are posted. */
  readonly audience: string;
  readonly destination: string;
  /** The id of our request; null for a login that the provider begins. */
  readonly requestId: string | null;
  readonly nowMs: number;
}
