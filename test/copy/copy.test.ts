// svc db copy: everything goes on in the copy, in either database; an interrupted copy is never served and can be resumed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install, type Server } from '../harness/cli.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
type Digest = { name: string; rows: number; digest: string };

const places: Installation[] = [];
after(() => Promise.all(places.map((place) => place.dispose())));

const source = await install({ init: false });
places.push(source);
source.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
const { apiKey } = await source.json<{ apiKey: { secret: string } }>([
  ...['init', '--yes', '--project', 'Shop', '--project-id', 'shop'],
]);
const settings = readFileSync(join(source.dir, 'svc.env'), 'utf8');
/** The settings of the source that the servers of copies have too. */
const ofSource = ['SVC_MASTER_KEY', 'SVC_BASE_URL'].map((key) => [
  ...[key, new RegExp(`^${key}=(.*)$`, 'm').exec(settings)?.[1] ?? ''],
]);

/** An installation with an empty database and the same master key, on the database under test or on SQLite. */
async function another(database: 'own' | 'sqlite' = 'own'): Promise<Installation> {
  const place = await install({ init: false });
  places.push(place);
  mkdirSync(join(place.dir, 'data'));
  if (database === 'sqlite' || place.env.SVC_DATABASE_URL === undefined)
    place.env.SVC_DATABASE_URL = `sqlite:${join(place.dir, 'data/svc.db')}`;
  Object.assign(place.env, Object.fromEntries(ofSource), { SVC_WEBHOOK_ALLOW_INSECURE: 'true' });
  return place;
}

const urlOf = ({ env }: Installation): string => env.SVC_DATABASE_URL ?? '';
const copy = (from: Installation, to: Installation, ...more: string[]) =>
  from.svc(['db', 'copy', '--to', '-', ...more], { input: urlOf(to) });
const digests = async (place: Installation) => (await place.json<{ tables: Digest[] }>(['db', 'digest'])).tables;
/** Names the tables that differ, because the digests themselves say nothing. */
function assertSame(one: readonly Digest[], other: readonly Digest[]): void {
  const lines = other.map((table) => JSON.stringify(table));
  const different = one.filter((table) => !lines.includes(JSON.stringify(table)));
  assert.deepEqual([different.map(({ name }) => name), one.length], [[], other.length]);
}

const keyHeaders = { 'X-Service-Project': 'shop', 'X-Service-Key': apiKey.secret };
const guest = { 'X-Service-Project': 'shop' };

async function send(server: Server, method: string, path: string, body?: Json | string, headers: Json = keyHeaders) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { ...(body && { 'Content-Type': 'application/json' }), ...(headers as Record<string, string>) },
    ...(body && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, body: (answer.status === 204 ? {} : await answer.json()) as Json };
}

async function create(server: Server, path: string, body: Json | string, headers: Json = keyHeaders): Promise<Json> {
  const { status, body: answer } = await send(server, 'POST', path, body, headers);
  assert.ok(status === 201 || status === 202, `${path}: ${JSON.stringify(answer)}`);
  return answer;
}

const posts = '/databases/blog/collections/posts';
const collection = ['--project', 'shop', '--database', 'blog', '--collection', 'posts'];
/** Values at the limits of both databases. Texts are JSON, because JavaScript has no 64-bit integers. */
const edges = {
  title: [
    '""',
    '"😀 𝒳 e\\u0301"',
    String.raw`"quotes \" ' \\ \n\t\r \u2028 %s $1 {}"`,
    '"\\u0001\\u007f\\uffff"',
    'null',
  ],
  count: ['9223372036854775807', '-9223372036854775808', '9007199254740993', '0', 'null'],
  ratio: ['5e-324', '1.7976931348623157e308', '-0.0', '0.1', 'null'],
  done: ['true', 'false', 'null', 'true', 'false'],
  tags: ['[]', '["","a,b","\\"]"]', '["😀"]', '["null"]', '[]'],
};

async function fill(server: Server): Promise<void> {
  await create(server, '/databases', { databaseId: 'blog', name: 'Blog' });
  const permissions = ['read("any")', 'create("users")'];
  for (const id of ['posts', 'authors'])
    await create(server, '/databases/blog/collections', {
      ...{ collectionId: id, name: id, documentSecurity: true, permissions },
    });
  const attributes = {
    string: [
      { key: 'title', size: 2000 },
      { key: 'tags', size: 20, array: true },
      { key: 'sealed', size: 200, encrypt: true },
    ],
    integer: [{ key: 'count' }],
    float: [{ key: 'ratio' }],
    boolean: [{ key: 'done' }],
    datetime: [{ key: 'at' }],
  };
  for (const [type, list] of Object.entries(attributes))
    for (const attribute of list)
      await create(server, `${posts}/attributes/${type}`, { ...attribute, required: false });
  await create(server, `${posts}/attributes/relationship`, {
    ...{ relatedCollectionId: 'authors', type: 'manyToOne', twoWay: true, key: 'author', twoWayKey: 'posts' },
  });
  await create(server, `${posts}/indexes`, { key: 'words', type: 'fulltext', attributes: ['title'] });
  await create(server, `${posts}/indexes`, { key: 'counts', type: 'key', attributes: ['count'], orders: ['DESC'] });
  // An attribute between others is deleted, so that the columns of the copy have another order.
  await send(server, 'DELETE', `${posts}/attributes/at`);
  await create(server, `${posts}/attributes/string`, { key: 'last', size: 10, required: false });
  for (const at of edges.title.keys()) {
    const values = Object.entries(edges).map(([key, texts]) => `"${key}":${texts[at]}`);
    const rest = `"sealed":"hidden ${at}","author":{"$id":"author-${at}","$permissions":[]}`;
    await create(server, `${posts}/documents`, `{"documentId":"edge-${at}","data":{${values.join()},${rest}}}`);
  }
  await create(server, `${posts}/documents`, { documentId: 'words', data: { title: 'some wonderful words' } });
  await create(server, `${posts}/documents`, { documentId: 'gone', data: {} });
  await send(server, 'DELETE', `${posts}/documents/gone`);
  const prefs = { '': { deep: [1.5, '😀', null, { a: 'b'.repeat(10_000) }] } };
  await create(server, '/users', {
    userId: 'ann',
    email: 'ann@mail.example',
    password: 'long enough 1',
    name: 'Ann 😀',
  });
  await send(server, 'PATCH', '/users/ann/prefs', { prefs });
  await create(server, '/teams', { teamId: 'crew', name: 'Crew' });
  await create(server, '/teams/crew/memberships', { userId: 'ann', roles: ['owner'] });
  await create(server, '/storage/buckets', { bucketId: 'pictures', name: 'Pictures' });
}

const receiver = await startReceiver();
await source.json([
  'webhook',
  'add',
  '--project',
  'shop',
  '--name',
  'w',
  '--url',
  receiver.origin,
  '--events',
  'documentCreated',
]);
let server = await source.serve();
await fill(server);
const session = await create(
  server,
  '/account/sessions/email',
  { email: 'ann@mail.example', password: 'long enough 1' },
  guest,
);
const sessionHeaders = { ...guest, 'X-Service-Session': String(session.secret) };
const { jwt } = await create(server, '/account/jwts', {}, sessionHeaders);
const { cursor } = (await send(server, 'GET', '/events?limit=1000')).body;
const documents = (await send(server, 'GET', `${posts}/documents`)).body;

test('a running server is not copied without --live, which copies a snapshot of it', async () => {
  const target = await another('sqlite');
  const refused = await copy(source, target);
  assert.equal(refused.code, 5, refused.err);
  assert.match(refused.err, /A server of svc uses this database[\s\S]*--live/);
  const live = await copy(source, target, '--live');
  assert.equal(live.code, 0, live.err);
  assert.match(live.err, /Later writes of a running server are not in the copy/);
  assert.equal((await copy(source, target, '--live', '--resume')).code, 2);
});

test('sessions, JWTs, deliveries, cursors, sequences and the audit log go on in the copy, there and back', async () => {
  server.signal('SIGTERM');
  await server.ended;
  // Written without a server, so that its delivery is pending.
  await source.json(['document', 'import', '-', ...collection], JSON.stringify({ $id: 'late' }));
  const before = await digests(source);
  assert.ok(before.every(({ digest }) => /^[0-9a-f]{64}$/.test(digest)));
  let from = source;
  for (const kind of ['sqlite', 'own'] as const) {
    const target = await another(kind);
    const made = await copy(from, target, '--json');
    assert.equal(made.code, 0, made.err);
    assertSame(JSON.parse(made.out).tables, before);
    assertSame(await digests(target), before);
    from = target;
  }
  // It seals the entries that wait for that, so the digests differ from here on.
  assert.equal((await from.svc(['audit', 'verify'])).code, 0);
  server = await from.serve();
  const { documents: now } = (await send(server, 'GET', `${posts}/documents`)).body as { documents: Json[] };
  assert.deepEqual(
    now.filter(({ $id }) => $id !== 'late'),
    documents.documents,
  );
  assert.equal((await send(server, 'GET', '/account', undefined, sessionHeaders)).body.name, 'Ann 😀');
  const byJwt = await send(server, 'GET', '/account', undefined, { ...guest, 'X-Service-JWT': String(jwt) });
  assert.equal(byJwt.body.name, 'Ann 😀');
  const search = encodeURIComponent('{"method":"search","attribute":"title","values":["wonderful"]}');
  assert.equal((await send(server, 'GET', `${posts}/documents?queries[]=${search}`)).body.total, 1);
  const more = await create(server, `${posts}/documents`, { documentId: 'more', data: {} });
  assert.ok(Number(more.$sequence) > 7, String(more.$sequence));
  while (!receiver.calls.some(({ body }) => String(body).includes('"$id":"late"'))) await sleep(50);
  const created: unknown[] = [];
  for (let next = cursor; created.length < 2; ) {
    const { events, ...page } = (await send(server, 'GET', `/events?cursor=${next}&wait=10`)).body;
    next = page.cursor;
    for (const { type, data } of events as { type: string; data: Json }[])
      if (type === 'documentCreated') created.push(data.$id);
  }
  assert.deepEqual(created, ['late', 'more']);
  server.signal('SIGTERM');
  await server.ended;
  assert.equal((await from.svc(['audit', 'verify'])).code, 0);
});

test('a row in every table comes back the same', async () => {
  const place = await another();
  assert.equal((await copy(source, place)).code, 0);
  const isPostgres = urlOf(place).startsWith('postgres');
  const empty = (await digests(place)).filter(({ rows }) => rows === 0).map(({ name }) => name);
  for (const name of empty) await insertRow(place, name, isPostgres);
  const before = await digests(place);
  assert.deepEqual(
    before.filter(({ rows }) => rows === 0).map(({ name }) => name),
    [],
  );
  let from = place;
  for (const kind of ['sqlite', 'own'] as const) {
    const target = await another(kind);
    const made = await copy(from, target);
    assert.equal(made.code, 0, made.err);
    assertSame(await digests(target), before);
    from = target;
  }
});

/** Inserts a row with values at the limits of the types of its columns. */
async function insertRow(place: Installation, table: string, isPostgres: boolean): Promise<void> {
  const columns = await place.sql(
    isPostgres
      ? `select column_name as name, data_type as type from information_schema.columns where table_name = '${table}' and is_identity = 'NO'`
      : `select name, type from pragma_table_info('${table}')`,
  );
  const literalOf = (name: unknown, type: unknown): string => {
    if (name === 'project_id') return "'shop'";
    if (name === 'user_id') return "'ann'";
    if (name === 'session_id') return '(select min(id) from sessions)';
    if (name === 'bucket_key') return '(select min(key) from buckets)';
    if (/bool/i.test(String(type))) return 'true';
    if (/bigint/i.test(String(type))) return '9223372036854775807';
    if (/int/i.test(String(type))) return '1';
    return '\'{"text": "😀 \'\' \\u2028 é"}\'';
  };
  await place.sql(
    `insert into ${table} (${columns.map(({ name }) => name).join()}) values (${columns.map(({ name, type }) => literalOf(name, type)).join()})`,
  );
}

test('data is never replaced, and a password is refused as an argument', async () => {
  const target = await another();
  await target.json(['migrate']);
  const refused = await copy(source, target);
  assert.equal(refused.code, 5, refused.err);
  assert.match(refused.err, /is not empty/);
  // Killed before it wrote anything.
  const early = await copy(source, await another(), '--resume');
  assert.equal(early.code, 0, early.err);
  assert.match(early.err, /holds no unfinished copy\. The copy begins/);
  const url = 'postgres://svc:secret@127.0.0.1/svc';
  const inArguments = await source.svc(['db', 'copy', '--to', url]);
  assert.equal(inArguments.code, 2);
  assert.doesNotMatch(inArguments.err, /secret/);
  assert.equal((await source.svc(['db', 'copy', '--to', 'mysql:x'])).code, 2);
  const endpoint = await source.svc(['import', 'appwrite', '--endpoint', 'https://me:secret@a.example/v1']);
  assert.match(endpoint.err, /the key of --key-file is the only credential/);
});

test('errors of the target name the target', async () => {
  const text = join(source.dir, 'text.db');
  writeFileSync(text, 'this is no database at all, only some text in a file\n'.repeat(100));
  const cases = [
    [`sqlite:${text}`, 7, /The target text\.db: the database file is damaged[\s\S]*name a new file/],
    [`sqlite:${join(source.dir, 'absent/x.db')}`, 6, /The target x\.db: the file of the database cannot be opened/],
    ['postgres://svc@127.0.0.1:9/other', 6, /The target other: no database server listens there[\s\S]*start it/],
  ] as const;
  for (const [url, code, message] of cases) {
    const refused = await source.svc(['db', 'copy', '--to', url]);
    assert.equal(refused.code, code, refused.err);
    assert.match(refused.err, message);
    assert.doesNotMatch(refused.err, /SVC_DATABASE_URL|backup/);
  }
});

test('two copies to one target at once: one is refused, and the other is complete', async () => {
  const target = await another();
  const both = await Promise.all([copy(source, target), copy(source, target)]);
  const [whole, refused] = both[0]?.code === 0 ? both : both.toReversed();
  assert.equal(whole?.code, 0, whole?.err);
  assert.equal(refused?.code, 5, refused?.err);
  assert.match(refused?.err ?? '', /Another process|is not empty/);
  assertSame(await digests(target), await digests(source));
});

test('a copy that was killed is refused by every command and can be resumed', async () => {
  const lines = Array.from({ length: 6000 }, (_, at) => JSON.stringify({ $id: `many-${at}`, title: `Title ${at}` }));
  await source.json(['document', 'import', '-', ...collection], lines.join('\n'));
  const target = await another();
  for (let round = 0; round < 5; round++) {
    await killed(target, 1 + round * 1300, round === 0 ? [] : ['--resume']);
    for (const command of [
      ['project', 'list'],
      ['serve'],
      ['serve', '--migrate', 'off'],
      ['migrate'],
      ['db', 'digest'],
    ]) {
      const { code, err } = await target.svc(command);
      assert.equal(code, 7, `${command.join(' ')}: ${err}`);
      assert.match(err, /holds an unfinished copy/);
    }
  }
  const resumed = await copy(source, target, '--resume');
  assert.equal(resumed.code, 0, resumed.err);
  assertSame(await digests(target), await digests(source));
});

test('a source that has changed since is found, and the copy begins again', async () => {
  const target = await another();
  // After the table of users.
  await killed(target, 14_000, []);
  await source.json(
    ['user', 'create', '--project', 'shop', '--email', 'eve@mail.example', '--password-stdin'],
    'long enough 3',
  );
  const resumed = await copy(source, target, '--resume');
  assert.equal(resumed.code, 1, resumed.err);
  assert.match(resumed.err, /These tables differ from the source: .*users/);
  assert.equal((await target.svc(['project', 'list'])).code, 7);
  const again = await copy(source, target);
  assert.equal(again.code, 0, again.err);
  assertSame(await digests(target), await digests(source));
});

/** Starts a copy and kills it when the target has that many rows. */
async function killed(target: Installation, rows: number, more: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [join(source.dir, 'bin/svc'), 'db', 'copy', '--to', '-', ...more], {
    ...{ cwd: source.dir, env: source.env, stdio: ['pipe', 'ignore', 'ignore'] },
  });
  child.stdin?.end(urlOf(target));
  const ended = once(child, 'exit');
  while ((await copiedRows(target)) < rows) {
    assert.equal(child.exitCode, null, 'the copy ended before it was killed');
    await sleep(5);
  }
  child.kill('SIGKILL');
  await ended;
}

async function copiedRows(target: Installation): Promise<number> {
  const [row] = await target.sql('select value from copy_progress').catch(() => []);
  return row === undefined ? 0 : Number(JSON.parse(String(row.value)).rows);
}
