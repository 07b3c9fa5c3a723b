import type { RowMembers } from './draft.js';

/** The members that an import reads, without the id, by format. */
const svc = [
  ...['email', 'phone', 'name', 'emailVerification', 'phoneVerification', 'status', 'mfa', 'labels', 'prefs'],
  ...['registration', '$createdAt', 'passwordUpdate', 'hash', 'password', 'hashOptions', 'totp', 'identities'],
];
const known = {
  svc,
  csv: svc,
  appwrite: svc,
  firebase: [
    ...['email', 'phoneNumber', 'displayName', 'emailVerified', 'disabled', 'customAttributes', 'createdAt'],
    ...['passwordHash', 'salt', 'providerUserInfo'],
  ],
  supabase: [
    ...['email', 'phone', 'encrypted_password', 'email_confirmed_at', 'phone_confirmed_at', 'raw_user_meta_data'],
    ...['banned_until', 'deleted_at', 'created_at', 'updated_at', 'mfa_factors', 'factors', 'identities'],
  ],
  pocketbase: [
    ...['email', 'emailVisibility', 'verified', 'name', 'username', 'password', 'passwordHash', 'tokenKey'],
    ...['created', 'updated', 'externalAuths'],
  ],
  auth0: [
    ...['email', 'email_verified', 'phone_number', 'phone_verified', 'name', 'nickname', 'blocked', 'user_metadata'],
    ...['created_at', 'passwordHash', 'password_hash', 'custom_password_hash', 'mfa_factors', 'identities'],
  ],
  keycloak: [
    ...['username', 'email', 'emailVerified', 'firstName', 'lastName', 'enabled', 'attributes', 'createdTimestamp'],
    ...['credentials', 'federatedIdentities'],
  ],
} as const;
/** The members with the id of a user. */
const ids = new Set(['$id', 'id', 'localId', 'user_id', '_id']);

/** A format of files of users. */
export type UserFormat = keyof typeof known;

/** Why a row is no user: it has no member that is read, beside its id. */
export function whyNoUser(format: UserFormat, row: RowMembers): string | undefined {
  const names: readonly string[] = known[format];
  const isGiven = (name: string) => row[name] !== undefined && row[name] !== null && row[name] !== '';
  return names.some(isGiven) ? undefined : `It is no user: it has none of ${names.join(', ')}.`;
}

/** The columns of CSV that are not read; undefined if none is read beside the id. Every column of PocketBase is a preference. */
export function unreadColumns(format: UserFormat, columns: readonly string[]): readonly string[] | undefined {
  const names: readonly string[] = known[format];
  if (!columns.some((name) => names.includes(name))) return undefined;
  return format === 'pocketbase' ? [] : columns.filter((name) => !names.includes(name) && !ids.has(name));
}

/** The members of a format, for messages. */
export function knownMembers(format: UserFormat): string {
  return known[format].join(', ');
}
