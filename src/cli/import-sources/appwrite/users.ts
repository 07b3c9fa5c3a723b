import { appwriteUser, type UserRecordOfFile } from '../../user-records/index.js';
import type { UnsupportedList } from '../unsupported-list.js';
import { type ApiClient, ApiError, foreignAnswer, type Json } from './client.js';
import { BrokenList, listEntries, pagesOf, problemOf, whyUnlisted } from './pages.js';

/** Lengths of SHA hashes in hexadecimal. The API of Appwrite does not name the version. */
const shaVersions: Readonly<Record<number, string>> = {
  40: 'sha1',
  56: 'sha224',
  64: 'sha256',
  96: 'sha384',
  128: 'sha512',
};

/** Counts of parts of users that the API does not show. */
export interface HiddenParts {
  /** Users whose hash has no salt in the API. */
  unsalted: number;
  /** Users with a second factor. */
  secondFactors: number;
}

/** Reads the users with their identities, and counts their hidden parts. */
export async function* readAppwriteUsers(
  client: ApiClient,
  hidden: HiddenParts,
  left: UnsupportedList,
): AsyncGenerator<UserRecordOfFile> {
  const hasIdentities = await isReadable(client, '/users/identities', 'identities', left);
  let line = 0;
  for await (const page of pagesOf(client, '/users', 'users')) {
    const identities = hasIdentities ? await identitiesOf(client, page) : new Map();
    for (const row of page) {
      line += 1;
      const problem = problemOf(row);
      if (problem !== undefined) {
        yield { line, bytes: 0, problem };
        continue;
      }
      if (row.mfa === true && row.totp === undefined) hidden.secondFactors += 1;
      const user = appwriteUser({
        ...row,
        ...passwordOf(row, hidden),
        prefs: Array.isArray(row.prefs) ? {} : row.prefs,
        identities: identities.get(row.$id) ?? [],
      });
      if (typeof user === 'string') yield { line, bytes: 0, id: String(row.$id), problem: user };
      else yield { line, bytes: 0, user };
    }
  }
}

/** True if there are entries. Adds a refusal to `left`. */
async function isReadable(client: ApiClient, path: string, kind: string, left: UnsupportedList): Promise<boolean> {
  try {
    const { body } = await client.get(path, [{ method: 'limit', values: [1] }], { list: kind });
    return Number(body.total) > 0;
  } catch (error) {
    if (error instanceof ApiError && error.type === foreignAnswer) throw new BrokenList(path, 0, error.message);
    const reason = whyUnlisted(error, path);
    if (reason === undefined) throw error;
    left.addUncounted(kind, reason);
    return false;
  }
}

/** Most ids in a query. */
const idsOfQuery = 100;

async function identitiesOf(client: ApiClient, users: readonly Json[]): Promise<Map<unknown, Json[]>> {
  const found = new Map<unknown, Json[]>();
  for (let at = 0; at < users.length; at += idsOfQuery) {
    const known = users.filter((one) => problemOf(one) === undefined);
    const values = known.slice(at, at + idsOfQuery).map(({ $id }) => $id);
    if (values.length === 0) break;
    const query = { method: 'equal', attribute: 'userId', values };
    for await (const identity of listEntries(client, '/users/identities', 'identities', [query]))
      found.set(identity.userId, [...(found.get(identity.userId) ?? []), identity]);
  }
  return found;
}

/** The hash of a user with the parameters that the API leaves out. */
function passwordOf({ hash, password, hashOptions }: Json, hidden: HiddenParts): Json {
  const text = typeof password === 'string' ? password : '';
  const options = (typeof hashOptions === 'object' && hashOptions !== null ? hashOptions : {}) as Json;
  if (hash === 'sha' && options.version === undefined)
    return { hashOptions: { ...options, version: shaVersions[text.length] } };
  if (hash !== 'scrypt' || text === '' || text.startsWith('scrypt:') || options.salt) return {};
  hidden.unsalted += 1;
  return { password: '' };
}
