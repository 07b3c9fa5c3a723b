import type { ImportedUser } from '#src/features/index.js';
import { parseJson } from '#src/platform/text/json.js';
import { csvValues } from '../document-records/csv-rows.js';
import type { DocumentRecord as UserRow } from '../document-records/index.js';
import { ndjsonRecords } from '../document-records/ndjson.js';
import { usageError } from '../terminal/exit.js';
import { checkedUser, type RowMembers, type UserDraft } from './draft.js';
import { jsonElements } from './json-elements.js';
import { knownMembers, type UserFormat, unreadColumns, whyNoUser } from './members.js';
import {
  type FirebaseParameters,
  ofAuth0,
  ofFirebase,
  ofKeycloak,
  ofPocketBase,
  ofSupabase,
  ofSvc,
} from './products.js';

export { checkedUser, objectOf, objectsOf, parsedOf, storedTime } from './draft.js';
export { exportedMembers, userCsvHeader, userCsvLine } from './printed.js';
export { type FirebaseParameters, ofPocketBase, ofSupabase } from './products.js';

/** The drafts of users, by the format of their file. `csv` has the members of `svc` as columns. */
const drafts: Readonly<
  Record<UserFormat, (row: RowMembers, firebase: FirebaseParameters | undefined) => UserDraft | string>
> = {
  svc: ofSvc,
  csv: ofSvc,
  appwrite: ofSvc,
  firebase: ofFirebase,
  supabase: ofSupabase,
  pocketbase: ofPocketBase,
  auth0: ofAuth0,
  keycloak: ofKeycloak,
};
/** Formats of files of users. */
export const userFormats = Object.keys(drafts) as UserFormat[];

/** A user of a file: valid, or the reason why it cannot be imported. */
export interface UserRecordOfFile {
  readonly line: number;
  readonly bytes: number;
  readonly user?: ImportedUser;
  /** The id of a user with a problem, if the source is read by an import of a whole project. */
  readonly id?: string;
  readonly problem?: string;
  /** The problem is one of the list, not of a user. */
  readonly type?: 'source_incomplete';
}

/** RowMembers of a JSON object that hold the list of users. */
const lists = new Set(['users', 'items', 'documents', 'records']);
/** Bytes at the beginning of a file that show its format. */
const headBytes = 65_536;
/** Most bytes of a user. */
const maxBytes = 4_194_304;

/** Reads a file of users one by one. `ignored` gets the columns of CSV that are not read. Throws CommandError if the format is not given and cannot be found. */
export async function readUsers(
  chunks: AsyncIterable<Buffer>,
  given: UserFormat | undefined,
  firebase: FirebaseParameters | undefined,
): Promise<{ readonly records: AsyncIterable<UserRecordOfFile>; readonly ignored: readonly string[] }> {
  const { head, isWhole, all } = await peek(chunks);
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  const format = given ?? detected(text);
  const ignored: string[] = [];
  const rows =
    !/^[[{]/.test(text) || format === 'csv'
      ? csvUsers(all, format, ignored)
      : isNdjson(text, isWhole)
        ? ndjsonRecords(all, maxBytes, () => false)
        : jsonElements(all, maxBytes, lists);
  return { records: usersOf(rows, format, firebase), ignored };
}

/** A user as the API of svc or Appwrite sends it. Returns the reason if it cannot be imported. */
export function appwriteUser(row: RowMembers): ImportedUser | string {
  return checkedUser(ofSvc(row));
}

async function* usersOf(
  rows: AsyncIterable<UserRow>,
  format: UserFormat,
  firebase: FirebaseParameters | undefined,
): AsyncGenerator<UserRecordOfFile> {
  for await (const { line, bytes, value, problem } of rows) {
    if (problem !== undefined) yield { line, bytes, problem };
    else if (value !== undefined) {
      const draft = whyNoUser(format, value) ?? drafts[format](value, firebase);
      const user = typeof draft === 'string' ? draft : checkedUser(draft);
      yield typeof user === 'string' ? { line, bytes, problem: user } : { line, bytes, user };
    }
  }
}

/** Names that only the files of one format have. Appwrite has the members of this service. */
const marks: readonly (readonly [UserFormat, RegExp])[] = [
  ['svc', /"?\$id"?/],
  ['firebase', /"localId"/],
  ['supabase', /\b(encrypted_password|raw_user_meta_data)\b/],
  ['pocketbase', /\b(tokenKey|emailVisibility)\b/],
  ['auth0', /^(?=[\s\S]*"email_verified")(?=[\s\S]*"(user_id|passwordHash|custom_password_hash)")/],
  ['keycloak', /"(createdTimestamp|requiredActions|federatedIdentities|credentialData)"/],
];

function detected(text: string): UserFormat {
  const found = marks.filter(([, mark]) => mark.test(text)).map(([format]) => format);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only === 'svc' && !/^[[{]/.test(text) ? 'csv' : only;
  throw usageError(
    found.length === 0 ? 'The format of the file is not known.' : `The file could be one of ${found.join(' and ')}.`,
    `give --format, one of ${userFormats.join(', ')}`,
  );
}

/** True for one JSON object on each line, and not one object with a list of users. */
function isNdjson(text: string, isWhole: boolean): boolean {
  if (!text.startsWith('{')) return false;
  const end = text.indexOf('\n');
  if (end < 0 && !isWhole) return !/^\{[^[]*"(users|items|documents|records)"\s*:\s*\[/.test(text);
  try {
    const first = parseJson(end < 0 ? text : text.slice(0, end)) as RowMembers;
    return !Object.keys(first).some((name) => lists.has(name) && Array.isArray(first[name]));
  } catch {
    return false;
  }
}

/** CSV with the names of members in the first line. */
function csvUsers(chunks: AsyncIterable<Buffer>, format: UserFormat, ignored: string[]): AsyncGenerator<UserRow> {
  const columnsOf = (cells: readonly (string | null)[]) => {
    const columns = cells.map((name) => name?.replace(/^\ufeff/, '') ?? '');
    const unread = unreadColumns(format, columns);
    if (unread === undefined)
      throw usageError(
        'The first line of the file names no column of a user.',
        `name some of ${knownMembers(format)}, separated by commas`,
      );
    ignored.push(...unread);
    return columns;
  };
  return csvValues(chunks, maxBytes, columnsOf, (columns, cells) =>
    Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? undefined])),
  );
}

/** Reads the beginning of a file. `all` yields the whole file. */
async function peek(chunks: AsyncIterable<Buffer>) {
  const iterator = chunks[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let [bytes, isWhole] = [0, false];
  while (bytes < headBytes && !isWhole) {
    const { value, done } = await iterator.next();
    if (done) isWhole = true;
    else {
      read.push(value);
      bytes += value.length;
    }
  }
  async function* all() {
    yield* read.splice(0);
    for (;;) {
      const { value, done } = await iterator.next();
      if (done) return;
      yield value;
    }
  }
  return { head: Buffer.concat(read).subarray(0, headBytes), isWhole, all: all() };
}
