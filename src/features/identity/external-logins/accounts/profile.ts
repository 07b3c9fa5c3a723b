import { Failure } from '#src/contract/errors.js';
import { identityLimits } from '#src/contract/limits.js';
import type { ProviderTokens } from '#src/contract/session.js';
import { displayName, emailAddress } from '#src/contract/shapes.js';
import type { ExternalProfile } from './resolve.js';

/** What a provider says of a user, in its own types. */
export interface RawProfile {
  readonly id: unknown;
  readonly email?: unknown;
  readonly emailVerified?: unknown;
  readonly name?: unknown;
}

/** Longest name of a user. */
const nameCharacters = 128;

/**
 * A profile in our own types, whatever a provider has sent, with the tokens that it has issued. Throws Failure `user_missing_id` where it does
 * not say who the user is.
 */
export function toExternalProfile(
  { id, email, emailVerified, name }: RawProfile,
  tokens: ProviderTokens,
): ExternalProfile {
  const uid = typeof id === 'number' && Number.isSafeInteger(id) ? String(id) : id;
  if (typeof uid !== 'string' || uid === '' || uid.length > identityLimits.uid || !isPlain(uid))
    throw new Failure('user_missing_id');
  const address = emailAddress.safeParse(email);
  return {
    providerUid: uid,
    email: address.success ? address.data : null,
    // Nothing else means yes: a provider has been seen to send "false".
    emailVerified: address.success && (emailVerified === true || emailVerified === 'true'),
    name: nameOf(name),
    tokens,
  };
}

/** Whether a database takes it as it is. */
function isPlain(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function nameOf(name: unknown): string {
  const text =
    typeof name === 'string' && name.isWellFormed() ? name.trim().slice(0, nameCharacters).toWellFormed() : '';
  return displayName.safeParse(text).success ? text : '';
}
