import type { ImportedIdentity, ImportedUser } from '#src/features/index.js';
import { isPbkdf2Digest } from '#src/platform/crypto/foreign-hashes/hash.js';
import { nonEmptyText, objectOf, objectsOf, parsedOf, type RowMembers, storedTime, type UserDraft } from './draft.js';
import { productHash } from './hashes.js';

/** The parameters of scrypt of a Firebase project, which its console shows. */
export interface FirebaseParameters {
  readonly signerKey: string;
  readonly saltSeparator: string;
}

/** Names of providers in other products, by the keys of the built-in providers here. */
const providerNames: Readonly<Record<string, string>> = {
  'google.com': 'google',
  'google-oauth2': 'google',
  'facebook.com': 'facebook',
  'github.com': 'github',
  'apple.com': 'apple',
  'microsoft.com': 'microsoft',
  windowslive: 'microsoft',
  azure: 'microsoft',
  'twitter.com': 'x',
  twitter: 'x',
};
/** Entries that are no account at a provider: the user's own password, address or number. */
const ownNames = new Set(['password', 'phone', 'email', 'emailLink', 'auth0', 'sms']);

function identity(provider: unknown, uid: unknown, email: unknown): ImportedIdentity[] {
  const name = nonEmptyText(provider)?.replace(/^(oidc|saml)\./, '') ?? '';
  if (ownNames.has(name) || name === '') return [];
  const providerUid = typeof uid === 'number' ? String(uid) : (nonEmptyText(uid) ?? '');
  return [{ provider: providerNames[name] ?? name, providerUid, providerEmail: nonEmptyText(email) ?? '' }];
}

/** Users of this service and of Appwrite: the user object of the SDKs. */
export function ofSvc(row: RowMembers): UserDraft {
  return {
    id: row.$id,
    email: row.email,
    phone: row.phone,
    name: row.name,
    emailVerification: row.emailVerification,
    phoneVerification: row.phoneVerification,
    status: row.status,
    mfa: row.mfa,
    labels: parsedOf(row.labels),
    prefs: parsedOf(row.prefs),
    registration: row.registration ?? row.$createdAt,
    passwordUpdate: row.passwordUpdate,
    hash: productHash(nonEmptyText(row.hash) ?? '', nonEmptyText(row.password), objectOf(row.hashOptions) ?? {}),
    totp: row.totp,
    identities: objectsOf(row.identities).flatMap((one) => identity(one.provider, one.providerUid, one.providerEmail)),
  };
}

/** Users of `firebase auth:export --format=json`. */
export function ofFirebase(row: RowMembers, parameters: FirebaseParameters | undefined): UserDraft | string {
  const [hash, salt] = [nonEmptyText(row.passwordHash), nonEmptyText(row.salt)];
  if (hash !== undefined && parameters === undefined)
    return 'The password hash needs the parameters of the project: --hash-config FILE.';
  return {
    id: row.localId,
    email: row.email,
    phone: row.phoneNumber,
    name: row.displayName,
    emailVerification: row.emailVerified,
    phoneVerification: nonEmptyText(row.phoneNumber) !== undefined,
    status: row.disabled !== true,
    prefs: objectOf(row.customAttributes),
    registration: row.createdAt,
    hash:
      hash === undefined || parameters === undefined
        ? undefined
        : { algorithm: 'scrypt-modified', hash: standardBase64(hash), salt: standardBase64(salt ?? ''), ...parameters },
    identities: objectsOf(row.providerUserInfo).flatMap((one) => identity(one.providerId, one.rawId, one.email)),
  };
}

/** Firebase writes base64 with `-` and `_` in some versions. */
function standardBase64(text: string): string {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, '=');
}

/** True until the time of a block has passed. Postgres has the times `infinity` and `-infinity`. */
function isBanned(until: string | undefined): boolean {
  if (until === undefined || until === '-infinity') return false;
  const time = storedTime(until);
  return time === undefined || time >= new Date().toISOString();
}

/** Rows of `auth.users` of Supabase, as JSON or CSV. */
export function ofSupabase(row: RowMembers): UserDraft {
  if (nonEmptyText(row.deleted_at) !== undefined) return { id: row.id, isDeleted: true };
  const phone = nonEmptyText(row.phone);
  const data = objectOf(row.raw_user_meta_data) ?? {};
  const factor = objectsOf(row.mfa_factors ?? row.factors).find(
    (one) => one.factor_type === 'totp' && one.status === 'verified',
  );
  return {
    id: row.id,
    email: row.email,
    phone: phone?.replace(/^(?!\+)/, '+'),
    name: nonEmptyText(data.full_name) ?? data.name,
    emailVerification: nonEmptyText(row.email_confirmed_at) !== undefined,
    phoneVerification: nonEmptyText(row.phone_confirmed_at) !== undefined,
    status: !isBanned(nonEmptyText(row.banned_until)),
    prefs: data,
    registration: row.created_at,
    passwordUpdate: row.updated_at,
    hash: productHash('', nonEmptyText(row.encrypted_password), {}),
    totp: factor?.secret,
    identities: objectsOf(row.identities).flatMap((one) => {
      const found = objectOf(one.identity_data) ?? {};
      return identity(one.provider, one.provider_id ?? found.sub, found.email);
    }),
  };
}

/** System members of records of PocketBase. */
const ofRecords = new Set([
  ...['id', 'collectionId', 'collectionName', 'created', 'updated', 'expand', 'email', 'emailVisibility', 'verified'],
  ...['name', 'username', 'password', 'passwordHash', 'tokenKey', 'lastResetSentAt', 'lastVerificationSentAt'],
  ...['lastLoginAlertSentAt', 'externalAuths'],
]);

/**
 * Records of an auth collection of PocketBase, with the column `password` or `passwordHash` of its database, and with the rows of
 * `_externalAuths` as `externalAuths`.
 */
export function ofPocketBase(row: RowMembers): UserDraft {
  return {
    id: row.id,
    email: row.email,
    name: nonEmptyText(row.name) ?? row.username,
    emailVerification: row.verified,
    prefs: Object.fromEntries(Object.entries(row).filter(([name]) => !ofRecords.has(name))),
    registration: row.created,
    passwordUpdate: row.updated,
    hash: productHash('', nonEmptyText(row.passwordHash) ?? nonEmptyText(row.password), {}),
    identities: objectsOf(row.externalAuths).flatMap((one) => identity(one.provider, one.providerId, '')),
  };
}

/** Users of an export of Auth0, with the hashes that its support sends on request. */
export function ofAuth0(row: RowMembers): UserDraft | string {
  const identities = objectsOf(row.identities);
  const custom = objectOf(row.custom_password_hash);
  const hash =
    custom === undefined
      ? productHash('', nonEmptyText(row.passwordHash) ?? nonEmptyText(row.password_hash), {})
      : customHash(custom);
  if (custom !== undefined && hash === undefined) return 'The password hash has a form that cannot be verified.';
  const id = nonEmptyText(row.user_id) ?? nonEmptyText(objectOf(row._id)?.$oid) ?? row._id;
  return {
    id: typeof id === 'string' ? auth0Id(id) : id,
    email: row.email,
    phone: row.phone_number,
    name: row.name ?? row.nickname,
    emailVerification: row.email_verified,
    phoneVerification: row.phone_verified,
    status: row.blocked !== true,
    prefs: objectOf(row.user_metadata),
    registration: nonEmptyText(row.created_at) ?? objectOf(row.created_at)?.$date,
    hash,
    totp: objectsOf(row.mfa_factors).map((one) => objectOf(one.totp)?.secret)[0],
    identities: identities.flatMap((one) => identity(one.provider, one.user_id, objectOf(one.profileData)?.email)),
  };
}

/** The id without the prefix of the database, such as `auth0|`; other characters that ids cannot have become hyphens. */
function auth0Id(id: string): string {
  return (id.startsWith('auth0|') || id.length > 36 ? id.replace(/^.*\|/, '') : id).replace(/[^\w.-]/g, '-');
}

/** Hashes as the import format of Auth0 describes them. Salted digests cannot be verified. */
function customHash({ algorithm, hash, salt }: RowMembers): ImportedUser['hash'] {
  const given = objectOf(hash) ?? {};
  const value = nonEmptyText(given.value) ?? '';
  if (algorithm === 'bcrypt' || algorithm === 'argon2') return productHash(algorithm, value, {});
  if (algorithm === 'pbkdf2') return phcPbkdf2(value);
  if (salt !== undefined) return undefined;
  const hex = given.encoding === 'base64' ? Buffer.from(value, 'base64').toString('hex') : value;
  if (algorithm === 'md5') return { algorithm: 'md5', hash: hex };
  return productHash('sha', hex, { version: algorithm });
}

/** PBKDF2 in the PHC format, `$pbkdf2-sha256$i=1000,l=32$SALT$HASH`. */
function phcPbkdf2(text: string): ImportedUser['hash'] {
  const [, digest = '', iterations, salt = '', hash = ''] =
    /^\$pbkdf2-(\w+)\$i=(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/.exec(text) ?? [];
  if (!isPbkdf2Digest(digest)) return undefined;
  return {
    algorithm: 'pbkdf2',
    hash: standardBase64(hash),
    salt: standardBase64(salt),
    iterations: Number(iterations),
    digest,
  };
}

/** Users of an export of a realm of Keycloak. */
export function ofKeycloak(row: RowMembers): UserDraft | string {
  if (nonEmptyText(row.serviceAccountClientId) !== undefined)
    return 'It is the service account of a client, and no user.';
  const credentials = objectsOf(row.credentials);
  const password = credentials.find(({ type }) => type === 'password');
  const otp = credentials.find(({ type }) => type === 'otp');
  const hash = password === undefined ? undefined : keycloakHash(password);
  if (typeof hash === 'string') return hash;
  const seed = otp === undefined ? undefined : keycloakSeed(otp);
  if (seed === null) return 'The second factor is no TOTP with SHA-1, six digits and 30 seconds.';
  const names = [nonEmptyText(row.firstName), nonEmptyText(row.lastName)].filter((name) => name !== undefined);
  return {
    id: row.id,
    email: row.email,
    name: names.length === 0 ? row.username : names.join(' '),
    emailVerification: row.emailVerified,
    status: row.enabled,
    prefs: objectOf(row.attributes),
    registration: row.createdTimestamp,
    hash,
    totp: seed,
    identities: objectsOf(row.federatedIdentities).flatMap((one) =>
      identity(one.identityProvider, one.userId, one.userName),
    ),
  };
}

function keycloakHash(credential: RowMembers): ImportedUser['hash'] | string {
  const [secret, data] = [objectOf(credential.secretData) ?? {}, objectOf(credential.credentialData) ?? {}];
  const [value, salt, algorithm] = [
    nonEmptyText(secret.value) ?? '',
    nonEmptyText(secret.salt) ?? '',
    nonEmptyText(data.algorithm) ?? '',
  ];
  const iterations = Number(data.hashIterations);
  if (algorithm === 'argon2') {
    const parameters = objectOf(data.additionalParameters) ?? {};
    const first = (name: string) => String([parameters[name]].flat()[0] ?? '');
    const cost = `m=${first('memory')},t=${iterations},p=${first('parallelism')}`;
    const plain = (text: string) => text.replace(/=+$/, '');
    return { algorithm: 'argon2', hash: `$argon2${first('type')}$v=19$${cost}$${plain(salt)}$${plain(value)}` };
  }
  const digest = algorithm === 'pbkdf2' ? 'sha1' : algorithm.replace(/^pbkdf2-/, '');
  if (!isPbkdf2Digest(digest)) return `Hashes of ${algorithm || 'this kind'} cannot be verified.`;
  return { algorithm: 'pbkdf2', hash: value, salt, iterations, digest };
}

/** The secret in base32; null if authenticator apps of this service would compute other codes. */
function keycloakSeed(credential: RowMembers): string | null {
  const [secret, data] = [objectOf(credential.secretData) ?? {}, objectOf(credential.credentialData) ?? {}];
  const value = nonEmptyText(secret.value);
  const isUsual = data.subType === 'totp' && data.digits === 6 && data.period === 30 && data.algorithm === 'HmacSHA1';
  if (value === undefined || !isUsual) return null;
  return data.secretEncoding === 'BASE32' ? value : base32(Buffer.from(value));
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}
