// svc import pocketbase: a recorded data directory becomes users, collections, permissions and files of a project.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { passwords, pixel } from './pocketbase/fill.js';
import { recordedData, withDatabase } from './pocketbase/recorded.js';

type Json = Record<string, unknown>;
type Report = {
  kinds: { kind: string; read: number; created: number; changed: number; skipped: number; failed: number }[];
  unsupported: { kind: string; count: number; reason: string }[];
};

let place: Installation;
let server: Server;
before(async () => {
  place = await install();
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off' });
  await place.json(['project', 'create', 'shop', '--id', 'shop']);
  await place.json(
    ['provider', 'add', 'oauth2', '--project', 'shop', '--key', 'google', '--client-id', 'id', '--secret-stdin'],
    'secret',
  );
  await recorded('pb_data');
  server = await place.serve();
});
after(() => place.dispose());

const recorded = (name: string, sql = '') => recordedData(join(place.dir, name), sql);

async function imported(...args: string[]): Promise<Report & { code: number | null; err: string }> {
  const { code, out, err } = await place.svc(['import', 'pocketbase', ...args, '--json']);
  return { ...JSON.parse(out || '{}'), code, err };
}

const countsOf = ({ kinds }: Report) =>
  Object.fromEntries(
    kinds.map(({ kind, created, changed, skipped, failed }) => [kind, [created, changed, skipped, failed]]),
  );

async function send(path: string, method: string, body?: Json, headers: Record<string, string> = {}) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Service-Project': 'shop', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
}

async function logIn(name: keyof typeof passwords): Promise<Record<string, string>> {
  const { status, body } = await send('/account/sessions/email', 'POST', {
    ...{ email: `${name}@mail.example`, password: passwords[name] },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return { 'X-Service-Session': String(body.secret) };
}

/** Reads as a server key of a project. */
async function read(project: string, path: string): Promise<Json> {
  if (!keys.has(project)) {
    const named = ['--project', project, '--name', 'test', '--scopes', 'all'];
    keys.set(project, (await place.json<{ secret: string }>(['apikey', 'create', ...named])).secret);
  }
  const headers = { 'X-Service-Project': project, 'X-Service-Key': keys.get(project) ?? '' };
  const { status, body } = await send(path, 'GET', undefined, headers);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}
const keys = new Map<string, string>();

const documents = '/databases/pocketbase/collections';
const idOf = (name: string) => name.padEnd(15, '0');

test('a dry run writes nothing, an import everything, and another one changes nothing', async () => {
  const before = readdirSync(join(place.dir, 'pb_data'));
  const dry = await imported('pb_data', '--project', 'shop', '--dry-run');
  assert.equal(dry.code, 5, dry.err);
  assert.deepEqual(countsOf(dry).users, [3, 0, 0, 0]);
  const made = await imported('pb_data', '--project', 'shop');
  assert.equal(made.code, 0, made.err);
  const counts = countsOf(made);
  assert.deepEqual(
    { users: counts.users, documents: counts.documents, files: counts.files, collections: counts.collections },
    { users: [3, 0, 0, 0], documents: [11, 0, 0, 0], files: [4, 0, 0, 0], collections: [5, 0, 0, 0] },
  );
  const again = await imported('pb_data', '--project', 'shop');
  assert.equal(again.code, 0, again.err);
  for (const { kind, created, changed, failed } of again.kinds)
    assert.deepEqual([created, changed, failed], [0, 0, 0], kind);
  assert.deepEqual(readdirSync(join(place.dir, 'pb_data')), before);
  assert.deepEqual(again.unsupported, made.unsupported);
  const kinds = new Set(made.unsupported.map(({ kind }) => kind));
  for (const kind of ['view', 'rule', 'index', 'hidden fields', 'name', '_superusers', '_authOrigins', 'provider'])
    assert.ok(kinds.has(kind), kind);
});

test('documents have their values, ids and times', async () => {
  const shown = await read('shop', `${documents}/posts/documents/${idOf('first')}`);
  const { title, body, views, score, open, contact, link, appears, state, moods, author, extra, spot } = shown;
  assert.deepEqual(
    { title, body, views, score, open, contact, link, appears, state, moods, author, extra, spot },
    {
      ...{ title: 'The first post 😀', body: '<p>Hello</p>', views: 12, score: 2.5, open: true },
      ...{ contact: 'desk@mail.example', link: 'https://example.com/a', appears: '2024-01-01T10:00:00.123+00:00' },
      ...{ state: 'live', moods: ['calm', 'odd'], author: idOf('ada') },
      ...{ extra: '{"deep":[1,null,"two"]}', spot: '{"lon":9.5,"lat":51.25}' },
    },
  );
  assert.equal(shown.$createdAt, '2026-11-28T16:33:16.886+00:00');
  assert.equal('price' in shown, false);
  const hidden = await read('shop', `${documents}/posts-private/documents/${idOf('first')}`);
  assert.equal(hidden.price, 99.5);
});

test('users log in with their passwords and see what the rules allow', async () => {
  const [ada, bob, eve] = [await logIn('ada'), await logIn('bob'), await logIn('eve')];
  const account = await send('/account', 'GET', undefined, ada);
  const prefs = account.body.prefs as Json;
  assert.deepEqual(
    [account.body.name, account.body.emailVerification, prefs.bio, prefs.level],
    ['ada', true, 'I am ada.', 0],
  );
  assert.equal('remark' in prefs, false);

  const list = async (collection: string, as: Record<string, string>, query = '') => {
    const { status, body } = await send(`${documents}/${collection}/documents${query}`, 'GET', undefined, as);
    return status === 200 ? (body.documents as Json[]).map(({ $id }) => $id).sort() : status;
  };
  assert.deepEqual(await list('tags', {}), [idOf('blue'), idOf('red')]);
  assert.deepEqual(await list('posts', eve), [idOf('first'), idOf('second')]);
  assert.deepEqual(await list('posts', {}), []);
  assert.deepEqual(await list('notes', ada), [idOf('shared')]);
  assert.deepEqual(await list('notes', bob), [idOf('own'), idOf('shared')]);
  assert.deepEqual(await list('notes', eve), []);
  for (const collection of ['posts-private', 'users-private']) assert.equal(await list(collection, ada), 401);

  const related = await send(`${documents}/posts/documents/${idOf('first')}?populate=tags`, 'GET', undefined, eve);
  assert.deepEqual((related.body.tags as Json[]).map(({ label }) => label).sort(), ['blue', 'red']);
  const change = (collection: string, id: string, as: Record<string, string>, data: Json) =>
    send(`${documents}/${collection}/documents/${idOf(id)}`, 'PATCH', { data }, as).then(({ status }) => status);
  assert.equal(await change('posts', 'first', bob, { views: 1 }), 401);
  assert.equal(await change('posts', 'first', ada, { views: 13 }), 200);
  // The rule also requires a verified address, so it grants nothing.
  assert.equal(await change('notes', 'shared', ada, { text: 'changed' }), 401);
  const creation = (collection: string, data: Json) =>
    send(`${documents}/${collection}/documents`, 'POST', { documentId: 'unique()', data }, eve).then(
      ({ status }) => status,
    );
  assert.equal(await creation('posts', { title: 'Hers' }), 201);
  assert.equal(await creation('notes', { text: 'x', owner: idOf('ada') }), 401);
  assert.equal(await creation('tags', { label: 'green' }), 401);

  const files = `/storage/buckets/users/files/${prefs.avatar}/view`;
  const picture = await fetch(server.url + files, { headers: { 'X-Service-Project': 'shop', ...ada } });
  assert.deepEqual(Buffer.from(await picture.arrayBuffer()), pixel);
  assert.equal((await send(files, 'GET', undefined, bob)).status, 404);
  const linked = (await read('shop', '/users/identities')).identities as Json[];
  assert.deepEqual(
    linked.map(({ userId, providerUid }) => [userId, providerUid]),
    [[idOf('eve'), '1234567890']],
  );
});

test('a second run brings changes of the source, also from the log of a running server', async () => {
  const directory = await recorded('live');
  await place.json(['project', 'create', 'live', '--id', 'live']);
  const file = join(directory, 'data.db');
  const made = await imported('live', '--project', 'live');
  assert.equal(made.code, 0, made.err);
  await withDatabase(
    file,
    `PRAGMA journal_mode = WAL; UPDATE posts SET title = 'Changed', updated = '2027-01-01 00:00:00.000Z' WHERE id = '${idOf('second')}'`,
    async () => {
      assert.ok(statSync(`${file}-wal`).size > 0);
      // A copy without the file of the locks.
      mkdirSync(join(place.dir, 'copied'));
      for (const name of ['data.db', 'data.db-wal']) cpSync(join(directory, name), join(place.dir, 'copied', name));
      cpSync(join(directory, 'storage'), join(place.dir, 'copied/storage'), { recursive: true });
      // One is the document of the hidden field, which has the same time.
      const dry = await imported('copied', '--project', 'live', '--dry-run');
      assert.deepEqual(countsOf(dry).documents, [0, 2, 9, 0], dry.err);
      assert.deepEqual(readdirSync(join(place.dir, 'copied')).sort(), ['data.db', 'data.db-wal', 'storage']);
      const again = await imported('live', '--project', 'live');
      assert.deepEqual(countsOf(again).documents, [0, 2, 9, 0], again.err);
    },
  );
});

test('rules that no permission expresses grant nothing', async () => {
  const signedIn = '@request.auth.id != ""';
  const isAda = [`read("user:${idOf('ada')}")`];
  const cases: [list: string | null, view: string | null, permissions: string[], ofDocument: string[]][] = [
    [null, null, [], []],
    ['', '', ['read("any")'], []],
    ['', null, [], []],
    ['', signedIn, ['read("users")'], []],
    ["'' != @request.auth.id // all users", '', ['read("users")'], []],
    ['owner.id = @request.auth.id || text = "x"', '', [], isAda],
    ['owner = @request.auth.id && text = "x"', '', [], []],
    [`${signedIn} && (@request.auth.id = owner)`, '', [], isAda],
    ['owner != @request.auth.id', '', [], []],
    ['readers = @request.auth.id', '', [], []],
    ['answers ?= @request.auth.id', '', [], []],
    ['readers.id ?= @request.auth.id', '', [], [`read("user:${idOf('bob')}")`]],
    ['@request.auth.collectionName = "users"', '', ['read("users")'], []],
    ['@collection.notes.owner ?= @request.auth.id', '', [], []],
    ['((@request.auth.id != ""', '', [], []],
  ];
  const text = (rule: string | null) => (rule === null ? 'NULL' : `'${rule.replaceAll("'", "''")}'`);
  const copies = cases.map(
    ([list, view], at) => `CREATE TABLE c${at} AS SELECT * FROM notes WHERE id = '${idOf('shared')}';
      INSERT INTO _collections SELECT 'pbc_c${at}', 0, 'base', 'c${at}', fields, '[]', ${text(list)}, ${text(view)}, NULL, NULL, NULL,
      options, created, updated FROM _collections WHERE name = 'notes';`,
  );
  const isClosed = "UPDATE _collections SET createRule = NULL WHERE name = 'users';";
  // Without sign-up in PocketBase, the role of all users would be open to everyone here.
  const closed = (permission: string) => permission.replace('"users"', '"label:users"');
  for (const project of ['rules', 'closed']) {
    await place.json(['project', 'create', project, '--id', project]);
    const some = project === 'rules' ? copies : copies.slice(0, 4);
    await recorded(project, some.join('\n') + (project === 'closed' ? isClosed : ''));
    const made = await imported(project, '--project', project);
    assert.equal(made.code, 0, made.err);
    for (const [at, [list, view, permissions, ofDocument]] of cases.slice(0, some.length).entries()) {
      const collection = await read(project, `${documents}/c${at}`);
      const expected = project === 'closed' ? permissions.map(closed) : permissions;
      assert.deepEqual(collection.$permissions, expected, `${list} ${view}`);
      const document = await read(project, `${documents}/c${at}/documents/${idOf('shared')}`);
      assert.deepEqual(document.$permissions, ofDocument, `${list} ${view}`);
    }
  }
});

test('several auth collections, blocked logins and missing files are reported', async () => {
  await place.json(['project', 'create', 'several', '--id', 'several']);
  const directory = await recorded(
    'several',
    `INSERT INTO _collections SELECT 'pbc_staff', 0, 'auth', 'staff', fields, '[]', listRule, viewRule, createRule, updateRule, deleteRule,
      json_set(options, '$.authRule', 'verified = true'), created, updated FROM _collections WHERE name = 'users';
    UPDATE _collections SET listRule = '@request.auth.collectionName = "staff"', viewRule = '' WHERE name = 'staff';
    CREATE TABLE staff AS SELECT * FROM users;
    UPDATE staff SET id = 's' || substr(id, 2), avatar = '';
    UPDATE staff SET email = 'boss@mail.example', verified = 0 WHERE name = 'eve';
    UPDATE users SET avatar = '../../../../data.db' WHERE name = 'bob';`,
  );
  writeFileSync(join(directory, 'storage/pbc_1125843985/first0000000000/one_5or4n9sd34.txt'), '');
  const made = await imported('several', '--project', 'several');
  assert.equal(made.code, 1);
  // ada and bob of both collections have one address; the other file is not the one that PocketBase described.
  assert.deepEqual(countsOf(made).users, [4, 0, 0, 2], made.err);
  assert.match(made.err, /user_already_exists/);
  assert.match(made.err, /is not valid/);
  const boss = await place.json<Json>(['user', 'show', 'sve000000000000', '--project', 'several']);
  assert.deepEqual([boss.labels, boss.status, boss.prefs], [['staff'], false, {}]);
  // Others can read the records of this collection, so they are documents.
  const profiles = await read('several', `${documents}/staff`);
  assert.deepEqual(profiles.$permissions, ['read("label:staff")']);
  const profile = await read('several', `${documents}/staff/documents/sve000000000000`);
  assert.deepEqual([profile.bio, profile.$permissions], ['I am eve.', ['update("user:sve000000000000")']]);
});

test('what is no current data directory is refused with the next step', async () => {
  mkdirSync(join(place.dir, 'old'));
  await withDatabase(join(place.dir, 'old/data.db'), 'CREATE TABLE _collections (id TEXT, name TEXT, schema JSON);');
  mkdirSync(join(place.dir, 'other'));
  await withDatabase(join(place.dir, 'other/data.db'), 'CREATE TABLE things (id TEXT);');
  mkdirSync(join(place.dir, 'broken'));
  writeFileSync(join(place.dir, 'broken/data.db'), 'no database at all, just a text that is long enough');
  for (const [name, code, message] of [
    ['old', 2, /0\.22 or older/],
    ['other', 2, /no database of PocketBase/],
    ['broken', 2, /cannot be read/],
    ['absent', 3, /no file data\.db/],
    ['broken/data.db', 3, /no file data\.db/],
  ] as const) {
    const found = await imported(name, '--project', 'shop');
    assert.equal(found.code, code, found.err);
    assert.match(found.err, message);
  }
});
