import { emailAddress } from '#src/contract/email-address.js';
import { Failure } from '#src/contract/errors.js';
import { identityLimits } from '#src/contract/limits.js';
import type { ProviderTokens } from '#src/contract/session.js';
import { displayName } from '#src/contract/shapes.js';
import type { ExternalProfile } from './resolve.js';

/** A user's profile as sent by a provider, not validated. */
export interface RawProfile {
  readonly id: unknown;
  readonly email?: unknown;
  readonly emailVerified?: unknown;
  readonly name?: unknown;
}

/** Maximum length of a user's name. */
const nameCharacters = 128;

/**
 * Validates the profile sent by a provider and adds its OAuth tokens. Throws Failure `user_missing_id` if it contains no usable user id.
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
    // Accept nothing else as true: some providers send the string "false".
    emailVerified: address.success && (emailVerified === true || emailVerified === 'true'),
    name: nameOf(name),
    tokens,
  };
}

/** True if the databases can store the text unchanged. */
function isPlain(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function nameOf(name: unknown): string {
  const text =
    typeof name === 'string' && name.isWellFormed() ? name.trim().slice(0, nameCharacters).toWellFormed() : '';
  return displayName.safeParse(text).success ? text : '';
}
