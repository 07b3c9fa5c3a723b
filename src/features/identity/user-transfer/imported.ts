import type { ForeignHash } from '#src/platform/crypto/foreign-hashes/hash.js';
import type { ImportedMembers } from '../users/index.js';

/** A user's account at an identity provider, in a file. */
export interface ImportedIdentity {
  readonly provider: string;
  readonly providerUid: string;
  readonly providerEmail: string;
}

/** A user to import. Members that the source does not have are absent: an update leaves them as they are. */
export interface ImportedUser extends ImportedMembers {
  /** `unique()` for a generated one. */
  readonly id: string;
  readonly email?: string | null;
  readonly phone?: string | null;
  readonly name?: string;
  /** A hash of another product, or the text of one of this service. */
  readonly hash?: ForeignHash | string | undefined;
  /** The secret of an authenticator app, in base32. */
  readonly totp?: string | undefined;
  readonly identities: readonly ImportedIdentity[];
  /** The source has deleted the user. An update blocks the account, and nothing else changes. */
  readonly isDeleted?: boolean;
}
