import type { ForeignRow, ForeignSqlite } from '#src/platform/foreign-databases/index.js';
import { checkedUser, ofPocketBase, type UserRecordOfFile } from '../../user-records/index.js';
import { quotedName } from '../keys.js';
import type { UnsupportedList } from '../unsupported-list.js';
import type { PocketBaseCollection } from './collections.js';
import { importedValue, textsOf } from './fields.js';
import { fileIdOf } from './files.js';
import type { CollectionPart } from './parts.js';
import { rowsOf } from './rows.js';

/** What users need beside their records. */
interface UserContext {
  readonly database: ForeignSqlite;
  readonly labels: ReadonlyMap<string, string>;
  readonly unsupported: UnsupportedList;
}

/** Reads the users of an auth collection. `part` has the fields that become preferences. */
export async function* pocketBaseUsers(
  context: UserContext,
  source: PocketBaseCollection,
  part: CollectionPart | undefined,
): AsyncGenerator<UserRecordOfFile, void, undefined> {
  const { options } = source;
  const isAllowed = loginRule(context.unsupported, source);
  const hasPasswords = options.passwordAuth?.enabled ?? false;
  const label = context.labels.get(source.id);
  let line = 0;
  for await (const rows of rowsOf(context.database, source, part?.rowBytes ?? 2000)) {
    const identities = await identitiesOf(context.database, source, rows);
    for (const row of rows) {
      line += 1;
      const id = String(row.id);
      const prefs = [...(part?.fields ?? [])].map(([field, key]) => [
        key,
        importedValue(field, row, (name) => fileIdOf(id, name)),
      ]);
      const { email, verified, name, username, password, created, updated } = row;
      const draft = ofPocketBase({
        id,
        email,
        verified,
        name,
        username,
        created,
        updated,
        externalAuths: identities.get(id),
        ...(hasPasswords ? { password } : {}),
      });
      const user = checkedUser({
        ...draft,
        prefs: Object.fromEntries(prefs.filter(([key]) => key !== 'name')),
        ...(label === undefined ? {} : { labels: [label] }),
        ...(isAllowed(row) ? {} : { status: false }),
      });
      yield typeof user === 'string'
        ? { line, bytes: 0, id, problem: `${source.name}: ${user}` }
        : { line, bytes: 0, user };
    }
  }
}

/** Whether a user may log in by the `authRule`. Users of other rules are blocked, because such a rule cannot be checked here. */
function loginRule(
  unsupported: UnsupportedList,
  { name, options }: PocketBaseCollection,
): (row: ForeignRow) => boolean {
  const rule = options.authRule?.trim();
  if (rule === '') return () => true;
  const isVerified = rule !== undefined && /^verified\s*=\s*true$/.test(rule);
  unsupported.add(
    'rule',
    isVerified
      ? `${name}.authRule: users with unverified addresses are blocked. svc user unblock lets them log in.`
      : `${name}.authRule: the rule ${rule ?? 'null'} cannot be checked at logins, so the users are blocked. svc user unblock lets them log in.`,
  );
  return (row) => isVerified && row.verified === 1;
}

async function identitiesOf(database: ForeignSqlite, { id }: PocketBaseCollection, rows: readonly ForeignRow[]) {
  const ids = rows.map((row) => String(row.id));
  const found = await database.all(
    `SELECT recordRef, provider, providerId FROM _externalAuths WHERE collectionRef = ? AND recordRef IN (${ids.map(() => '?').join(', ')})`,
    id,
    ...ids,
  );
  const byUser = new Map<string, ForeignRow[]>();
  for (const one of found) {
    const user = String(one.recordRef);
    byUser.set(user, [...(byUser.get(user) ?? []), one]);
  }
  return byUser;
}

/** Adds the parts of auth collections that have no counterpart. */
export async function listUnsupportedOfUsers(
  { database, unsupported }: UserContext,
  auth: readonly PocketBaseCollection[],
): Promise<void> {
  const reasons: Readonly<Record<string, string>> = {
    _superusers:
      'Superusers are no users of the project. Operators use svc on the server, applications use server keys.',
    _mfas: 'Logins that wait for their second factor are not imported.',
    _otps: 'Codes that were sent are not imported.',
    _authOrigins: 'Devices of earlier logins are not imported. Users get no mail about their first login here.',
  };
  for (const [table, reason] of Object.entries(reasons)) {
    const [row] = await database.all(`SELECT count(*) AS n FROM ${quotedName(table)}`).catch(() => []);
    unsupported.add(table, reason, Number(row?.n ?? 0));
  }
  for (const { name, options, fields } of auth) {
    for (const provider of options.oauth2?.providers ?? [])
      unsupported.add(
        'provider',
        `${name}: the provider ${provider.name} is not imported. Add it with svc provider add, with a redirect URI of this service at the provider.`,
      );
    if (options.mfa?.enabled)
      unsupported.add(
        'second factor',
        `${name}: users have no second factor until they add one. Codes by mail are one.`,
      );
    if (options.passwordAuth?.enabled === false)
      unsupported.add('password', `${name}: logins by password are off, so password hashes are not imported.`);
    if (fields.some((field) => field.name === 'username'))
      unsupported.add(
        'username',
        `${name}: users log in with their email address. The user name is kept as a value only.`,
      );
  }
}

/** Names of the files in the file fields of a record. */
export function fileNames({ fields }: CollectionPart, row: ForeignRow): string[] {
  return [...fields.keys()].filter(({ type }) => type === 'file').flatMap(({ name }) => textsOf(row[name]));
}
