// svc backup: a backup contains all acknowledged writes and restores onto either database; damaged and unfinished ones fail the verification.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const places: Installation[] = [];
after(() => Promise.all(places.map((place) => place.dispose())));

const source = await install({ init: false });
places.push(source);
const { apiKey } = await source.json<{ apiKey: { secret: string } }>([
  ...['init', '--yes', '--project', 'Shop', '--project-id', 'shop'],
]);
const masterKey = /^SVC_MASTER_KEY=(.*)$/m.exec(readFileSync(join(source.dir, 'svc.env'), 'utf8'))?.[1] ?? '';

/** An empty installation with the same master key, on the database under test or on SQLite. */
async function another(database: 'own' | 'sqlite' = 'own'): Promise<Installation> {
  const place = await install({ init: false });
  places.push(place);
  if (database === 'sqlite') delete place.env.SVC_DATABASE_URL;
  place.env.SVC_MASTER_KEY = masterKey;
  return place;
}

type Json = Record<string, unknown>;
const keyHeaders = { 'X-Service-Project': 'shop', 'X-Service-Key': apiKey.secret };
async function send(server: Server, method: string, path: string, body?: Json, headers: Json = keyHeaders) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { ...(body && { 'Content-Type': 'application/json' }), ...(headers as Record<string, string>) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (answer.status === 204 ? {} : await answer.json()) as Json };
}
const guest = { 'X-Service-Project': 'shop' };
const posts = '/databases/blog/collections/posts';

async function fill(server: Server): Promise<void> {
  const create = async (path: string, body: Json) => {
    const { status, body: answer } = await send(server, 'POST', path, body);
    assert.ok(status === 201 || status === 202, `${path}: ${JSON.stringify(answer)}`);
  };
  await create('/databases', { databaseId: 'blog', name: 'Blog' });
  const permissions = ['read("any")', 'create("users")'];
  for (const id of ['posts', 'authors'])
    await create('/databases/blog/collections', { collectionId: id, name: id, documentSecurity: true, permissions });
  await create(`${posts}/attributes/string`, { key: 'title', size: 200, required: false });
  await create(`${posts}/attributes/integer`, { key: 'count', required: false });
  await create(`${posts}/attributes/float`, { key: 'ratio', required: false });
  await create(`${posts}/attributes/boolean`, { key: 'done', required: false });
  await create(`${posts}/attributes/string`, { key: 'tags', size: 20, required: false, array: true });
  await create(`${posts}/attributes/string`, { key: 'sealed', size: 200, required: false, encrypt: true });
  await create(`${posts}/attributes/relationship`, {
    ...{ relatedCollectionId: 'authors', type: 'manyToOne', twoWay: true, key: 'author', twoWayKey: 'posts' },
  });
  await create(`${posts}/indexes`, { key: 'words', type: 'fulltext', attributes: ['title'] });
  await create(`${posts}/indexes`, { key: 'one', type: 'unique', attributes: ['count'], orders: ['DESC'] });
  for (let at = 0; at < 40; at++)
    await create(`${posts}/documents`, {
      documentId: `post-${at}`,
      data: {
        ...{
          title: `Tïtle "${at}" \n 𝒳 word${at}`,
          count: at,
          ratio: 0.1 + at / 3,
          done: at % 2 === 0,
          tags: ['a', 'ü'],
        },
        ...{ sealed: `hidden ${at}`, author: at % 3 === 0 ? { $id: `author-${at}`, $permissions: [] } : null },
      },
      permissions: at % 2 === 0 ? ['read("user:ann")'] : [],
    });
  await create('/users', { userId: 'ann', email: 'ann@mail.example', password: 'long enough 1', name: 'Ann' });
  await create('/storage/buckets', { bucketId: 'pictures', name: 'Pictures', permissions: ['read("any")'] });
  const form = new FormData();
  form.append('fileId', 'logo');
  form.append('file', new Blob([content]), 'logo.bin');
  const uploaded = await fetch(`${server.url}/storage/buckets/pictures/files`, {
    method: 'POST',
    headers: keyHeaders,
    body: form,
  });
  assert.equal(uploaded.status, 201);
}
const content = randomBytes(300_000);

/** Everything that a client can see of the project. */
async function seen(server: Server): Promise<Json> {
  const paths = [
    `${posts}/documents?queries[]=${encodeURIComponent('{"method":"limit","values":[100]}')}`,
    posts,
    '/users',
    '/storage/buckets/pictures/files',
    '/databases/blog/collections/authors/documents',
  ];
  const answers = await Promise.all(paths.map((path) => send(server, 'GET', path)));
  return Object.fromEntries(
    answers.map(({ status, body }, at) => [paths[at], { status, body: { ...body, accessedAt: undefined } }]),
  );
}
const search = `${posts}/documents?queries[]=${encodeURIComponent('{"method":"search","attribute":"title","values":["word7"]}')}`;

const server = await source.serve();
await fill(server);
const login = { email: 'ann@mail.example', password: 'long enough 1' };
const session = await send(server, 'POST', '/account/sessions/email', login, guest);
const before = await seen(server);

test('under writes, a backup holds what was acknowledged before it, verifies, and restores onto either database', async () => {
  let [written, isOver] = [0, false];
  const acknowledged: string[] = [];
  const writers = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const documentId = `author-new-${written++}`;
      // On a busy machine the server may close an idle connection just when it is used again.
      const answer = await send(server, 'POST', '/databases/blog/collections/authors/documents', {
        documentId,
        data: {},
      }).catch(() => undefined);
      if (answer?.status === 201) acknowledged.push(documentId);
    }
  });
  while (acknowledged.length < 20) await new Promise((resolve) => setTimeout(resolve, 20));
  const known = [...acknowledged];
  const made = await source.json<{
    file: string;
    files: number;
    tables: { name: string; rows: number }[];
    masterKey: string;
  }>(['backup', 'create', 'a.tar']);
  isOver = true;
  await Promise.all(writers);
  assert.equal(made.files, 1);
  assert.equal(made.tables.find(({ name }) => name === 'users')?.rows, 1);
  assert.doesNotMatch(readFileSync(made.file, 'latin1'), new RegExp(masterKey));
  assert.deepEqual((await source.json<Json>(['backup', 'verify', 'a.tar'])).ok, true);

  let { file: archive } = made;
  // From the database under test onto SQLite, and from there back.
  for (const kind of ['sqlite', 'own'] as const) {
    const target = await another(kind);
    const dry = await target.svc(['backup', 'restore', archive, '--dry-run']);
    assert.equal(dry.code, 5, dry.err);
    await target.json(['backup', 'restore', archive]);
    archive = (await target.json<{ file: string }>(['backup', 'create', 'again.tar'])).file;
    assert.equal((await target.svc(['audit', 'verify'])).code, 0);
    assert.equal((await target.svc(['files', 'check'])).code, 0);
    const restored = await target.serve();
    const authors = '/databases/blog/collections/authors/documents';
    const now = await seen(restored);
    for (const path of Object.keys(before)) if (path !== authors) assert.deepEqual(now[path], before[path], path);
    for (const id of known) assert.equal((await send(restored, 'GET', `${authors}/${id}`)).status, 200, id);
    assert.equal((await send(restored, 'GET', search)).body.total, 1);
    const file = await fetch(`${restored.url}/storage/buckets/pictures/files/logo/view?project=shop`);
    assert.deepEqual(Buffer.from(await file.arrayBuffer()), content);
    const old = { ...guest, 'X-Service-Session': String(session.body.secret) };
    assert.equal((await send(restored, 'GET', '/account', undefined, old)).status, 401);
    assert.equal((await send(restored, 'POST', '/account/sessions/email', login, guest)).status, 201);
    // Unique indexes, relationships and sequences go on.
    assert.equal(
      (await send(restored, 'POST', `${posts}/documents`, { documentId: 'unique()', data: { count: 7 } })).status,
      409,
    );
    const added = await send(restored, 'POST', `${posts}/documents`, {
      documentId: 'more',
      data: { count: 100, author: 'author-0' },
    });
    assert.equal(added.status, 201);
    assert.ok(Number(added.body.$sequence) > 40);
    assert.equal((await send(restored, 'GET', `${posts}/documents?total=exact`)).body.total, 41);
  }
});

test('a changed byte anywhere, and a missing end, fail the verification', async () => {
  const whole = readFileSync(join(source.dir, 'a.tar'));
  const positions = [0, 100, 300, 511, 513, whole.length - 1, whole.length - 80, whole.length - 600];
  for (let count = 0; count < 12; count++) positions.push(Math.floor((whole.length * (count + 0.5)) / 12));
  for (const position of positions) {
    const damaged = Buffer.from(whole);
    damaged[position] = (damaged[position] ?? 0) ^ 1;
    writeFileSync(join(source.dir, 'damaged.tar'), damaged);
    const { code, err } = await source.svc(['backup', 'verify', 'damaged.tar']);
    assert.equal(code, 1, `${position}: ${err}`);
  }
  for (const length of [0, 1000, whole.length - 1]) {
    writeFileSync(join(source.dir, 'damaged.tar'), whole.subarray(0, length));
    assert.equal((await source.svc(['backup', 'verify', 'damaged.tar'])).code, 1, `${length} bytes`);
  }
});

test('a passphrase encrypts it', async () => {
  writeFileSync(join(source.dir, 'pass.txt'), 'correct horse\n');
  writeFileSync(join(source.dir, 'wrong.txt'), 'wrong horse\n');
  await source.json(['backup', 'create', 'b.age', '--passphrase-file', 'pass.txt']);
  assert.match(readFileSync(join(source.dir, 'b.age'), 'latin1'), /^age-encryption\.org\/v1\n/);
  const codes = [];
  for (const more of [['--passphrase-file', 'pass.txt'], ['--passphrase-file', 'wrong.txt'], []])
    codes.push((await source.svc(['backup', 'verify', 'b.age', ...more])).code);
  assert.deepEqual(codes, [0, 4, 4]);
});

test('nothing is overwritten by mistake: files, data, a running server, another master key', async () => {
  assert.equal((await source.svc(['backup', 'create', 'a.tar'])).code, 5);
  assert.equal((await source.svc(['backup', 'verify', 'none.tar'])).code, 3);
  const target = await another();
  await target.json(['backup', 'restore', join(source.dir, 'a.tar')]);
  const refused = await target.svc(['backup', 'restore', join(source.dir, 'a.tar')]);
  assert.equal(refused.code, 4);
  assert.match(refused.err, /permanently replaces the data of 1 project/);
  const replace = ['backup', 'restore', join(source.dir, 'a.tar'), '--confirm', target.database];
  await target.json(replace);
  const server = await target.serve();
  for (const [port, reason] of [
    [new URL(server.url).port, /server_running/],
    ['9', /server_running|database_in_use/],
  ] as const) {
    const { code, err } = await target.svc([...replace, '--json'], { env: { SVC_PORT: port } });
    assert.equal(code, 5, err);
    assert.match(err, reason);
  }
  server.signal('SIGKILL');
  await server.ended;
  await target.json(replace);
  target.env.SVC_MASTER_KEY = randomBytes(32).toString('base64url');
  const other = await target.svc(replace);
  assert.equal(other.code, 7);
  assert.match(
    other.err,
    /needs the master key with the fingerprint [0-9a-f]{16}, and the settings have the one with [0-9a-f]{16}/,
  );
});

test('a second restore into the same SQLite file is refused, unless the first was killed', async () => {
  const target = await another('sqlite');
  await target.json(['init', '--yes']);
  const lock = join(target.dir, 'data/svc.db.restoring.lock');
  const restore = ['backup', 'restore', join(source.dir, 'a.tar'), '--json'];
  writeFileSync(lock, String(process.pid));
  const { code, err } = await target.svc(restore);
  assert.equal(code, 5, err);
  assert.match(err, /restore_running/);
  // No process has this id.
  writeFileSync(lock, '4194304');
  await target.json(restore.slice(0, -1));
  assert.ok(!existsSync(lock));
});

test('kill -9 leaves no backup that looks whole, and a database as it was', async () => {
  const kill = async (place: Installation, args: readonly string[], ms: number) => {
    const child = spawn(process.execPath, [join(place.dir, 'bin/svc'), ...args], {
      cwd: place.dir,
      env: place.env,
      stdio: 'ignore',
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), ms);
    await once(child, 'exit');
    clearTimeout(timer);
  };
  for (let round = 0; round < 4; round++) {
    await kill(source, ['backup', 'create', `killed-${round}.tar`], 300 + round * 150);
    for (const name of readdirSync(source.dir).filter((one) => one === `killed-${round}.tar`))
      assert.equal((await source.svc(['backup', 'verify', name])).code, 0);
  }
  const target = await another();
  await target.json(['backup', 'restore', join(source.dir, 'a.tar')]);
  await target.svc(['project', 'create', 'Later', '--id', 'later']);
  for (let round = 0; round < 4; round++) {
    await kill(
      target,
      ['backup', 'restore', join(source.dir, 'a.tar'), '--confirm', target.database],
      300 + round * 200,
    );
    const ids = (await target.json<{ projects: { $id: string }[] }>(['project', 'list'])).projects.map(
      ({ $id }) => $id,
    );
    assert.ok(['later,shop', 'shop'].includes(ids.sort().join()), ids.join());
    assert.equal((await target.svc(['audit', 'verify'])).code, 0);
  }
});
