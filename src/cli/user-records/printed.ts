import { type ExportedUser, toUser } from '#src/features/index.js';
import { printJson } from '#src/platform/text/json.js';
import { csvCell } from '../document-records/csv-rows.js';

/** RowMembers of an exported user, which are also the columns of CSV. */
const members = [
  ...['$id', 'email', 'phone', 'name', 'emailVerification', 'phoneVerification', 'status', 'mfa', 'labels', 'prefs'],
  ...['registration', 'hash', 'password', 'hashOptions', 'totp', 'identities'],
] as const;

/** RowMembers that let someone log in as the user. */
const secrets = new Set(['hash', 'password', 'hashOptions', 'totp']);

/** The members of a user in an export, with or without password hash and secret of the authenticator app. */
export function exportedMembers(
  { user, password, totp, identities }: ExportedUser,
  withSecrets: boolean,
): Readonly<Record<string, unknown>> {
  const all: Readonly<Record<string, unknown>> = {
    ...toUser(user),
    hash: password?.algorithm ?? '',
    password: password?.hash ?? '',
    hashOptions: password?.options ?? {},
    totp: totp ?? '',
    identities: identities.map(({ provider, providerUid, providerEmail }) => ({
      provider,
      providerUid,
      providerEmail,
    })),
  };
  return Object.fromEntries(
    members.filter((name) => withSecrets || !secrets.has(name)).map((name) => [name, all[name]]),
  );
}

/** The header line of a CSV file. */
export function userCsvHeader(withSecrets: boolean): string {
  return `${members.filter((name) => withSecrets || !secrets.has(name)).join(',')}\r\n`;
}

/** A user as a line of CSV. Lists and objects are JSON. */
export function userCsvLine(exported: Readonly<Record<string, unknown>>): string {
  const texts = Object.values(exported).map((value) => (typeof value === 'string' ? value : printJson(value)));
  return `${texts.map(csvCell).join(',')}\r\n`;
}
