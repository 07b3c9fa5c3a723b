import type { KeyObject } from 'node:crypto';

/** Expected values of a valid response. */
export interface Expectation {
  /** Entity id of the identity provider and the keys it signs with. */
  readonly issuer: string;
  readonly keys: readonly KeyObject[];
  /** Our key for decrypting assertions; undefined if the provider cannot know one. */
  readonly decryptionKey: KeyObject | undefined;
  /** Our entity id and the URL that responses are posted to. */
  readonly audience: string;
  readonly destination: string;
  /** Id of our request; null for a login that the provider begins. */
  readonly requestId: string | null;
  readonly nowMs: number;
}
