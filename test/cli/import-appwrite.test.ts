// svc import appwrite: a project of another installation arrives as it is there, again and again, whatever interrupts it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { Databases, Users } from 'node-appwrite';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import {
  assertAllLogIn,
  clientOf,
  fillProject,
  keyedProject,
  readProject,
  type ServedProject,
  send,
} from '../harness/whole-project.js';

type Kind = { kind: string; read: number; created: number; changed: number; skipped: number; failed: number };
type Report = { kinds: Kind[]; unsupported: { kind: string; count: number; reason: string }[] };

let place: Installation;
let other: Installation;
let server: Server;
let otherServer: Server;
let old: ServedProject;
before(async () => {
  [place, other] = await Promise.all([install(), install()]);
  for (const one of [place, other]) Object.assign(one.env, { SVC_RATE_LIMIT: 'off' });
  [server, otherServer] = await Promise.all([place.serve(), other.serve()]);
  old = await keyedProject(other, otherServer, 'old');
  await fillProject(old);
  for (const one of [place, other]) {
    const project = one === place ? 'shop' : 'old';
    if (one === place) await keyedProject(place, server, 'shop');
    const add = ['provider', 'add', 'oauth2', '--project', project, '--key', 'google'];
    await one.json([...add, '--client-id', 'id', '--secret-stdin'], 'secret');
  }
  const linked = {
    $id: 'linked',
    email: 'linked@mail.example',
    identities: [{ provider: 'google', providerUid: 'g1', providerEmail: 'l@g.example' }],
  };
  writeFileSync(join(other.dir, 'linked.ndjson'), JSON.stringify(linked));
  await other.json(['user', 'import', 'linked.ndjson', '--format', 'svc', '--project', 'old']);
  writeFileSync(join(place.dir, 'old.key'), `${old.key}\n`);
});
after(() => Promise.all([place?.dispose(), other?.dispose()]));

const importArgs = (project: string, ...more: string[]) => [
  ...['import', 'appwrite', '--endpoint', old.url, '--source-project', 'old', '--key-file', 'old.key'],
  ...['--project', project, '--json', ...more],
];

async function imported(project: string, ...more: string[]): Promise<Report & { code: number | null; err: string }> {
  const { code, out, err } = await place.svc(importArgs(project, ...more));
  return { ...JSON.parse(out || '{}'), code, err };
}

const sum = ({ kinds }: Report, of: 'created' | 'changed' | 'failed') => kinds.reduce((all, one) => all + one[of], 0);
const countsOf = ({ kinds }: Report, kind: string) => kinds.find((one) => one.kind === kind);

/** Events since a time, except for those of logins. */
async function eventsSince(of: ServedProject, since: string): Promise<string[]> {
  const events: { type: string; timestamp: string }[] = [];
  for (let cursor = '', more = true; more; ) {
    const page = await send(of, 'GET', `/events?limit=1000${cursor}`);
    events.push(...page.events);
    cursor = `&cursor=${page.cursor}`;
    more = page.more;
  }
  assert.ok(events.length > 0);
  const late = events.filter(
    ({ type, timestamp }) => !type.startsWith('session') && Date.parse(timestamp) > Date.parse(since),
  );
  return late.map(({ type }) => type);
}

let shop: ServedProject;
test('a project arrives with its users, documents, relationships and files, and a second run changes nothing', async () => {
  const { secret } = await place.json<{ secret: string }>([
    'apikey',
    'create',
    '--name',
    'sdk',
    '--project',
    'shop',
    '--scopes',
    'all',
  ]);
  shop = { url: server.url, project: 'shop', key: secret };
  const rehearsed = await imported('shop', '--dry-run');
  assert.equal(rehearsed.code, 5, rehearsed.err);
  assert.equal((await new Users(clientOf(shop)).list()).total, 0);
  const first = await imported('shop');
  assert.deepEqual([first.code, sum(first, 'failed')], [0, 0], first.err + JSON.stringify(first));
  assert.equal(countsOf(first, 'documents')?.created, 14);
  assert.equal(countsOf(rehearsed, 'users')?.created, countsOf(first, 'users')?.created);
  assert.deepEqual(first.unsupported, []);
  assert.deepEqual(await readProject(shop), await readProject(old));
  assert.equal((await new Users(clientOf(shop)).listIdentities()).total, 1);
  const since = new Date().toISOString();
  await assertAllLogIn(shop);
  for (const more of [[], ['--resume'], ['--dry-run']]) {
    const again = await imported('shop', ...more);
    assert.deepEqual([again.code, sum(again, 'created'), sum(again, 'changed')], [0, 0, 0], JSON.stringify(again));
  }
  assert.deepEqual(await eventsSince(shop, since), []);
  const { out } = await place.svc(['mail', 'list', '--project', 'shop', '--json']);
  assert.deepEqual(JSON.parse(out).mails ?? JSON.parse(out), []);
});

test('a second run takes what has changed in the source, and --resume only what is new', async () => {
  const [users, databases] = [new Users(clientOf(old)), new Databases(clientOf(old))];
  await users.updateName({ userId: 'own', name: 'Renamed' });
  await users.updatePassword({ userId: 'own', password: 'another long password' });
  const posts = { databaseId: 'blog', collectionId: 'posts' };
  await databases.updateDocument({ ...posts, documentId: 'post-1', data: { title: 'Changed', author: 'author-2' } });
  await databases.createDocument({ ...posts, documentId: 'post-new', data: { title: 'New', tags: ['tag-0'] } });
  const resumed = await imported('shop', '--resume');
  assert.deepEqual([sum(resumed, 'changed'), sum(resumed, 'failed')], [0, 0], JSON.stringify(resumed));
  assert.equal(countsOf(resumed, 'documents')?.created, 1);
  const second = await imported('shop');
  const changed = second.kinds.filter((one) => one.changed > 0).map(({ kind, changed }) => [kind, changed]);
  assert.deepEqual(changed, [
    ['users', 1],
    ['documents', 1],
    ['relationships', 1],
  ]);
  assert.deepEqual(await readProject(shop, false), await readProject(old, false));
  const session = await fetch(`${shop.url}/account/sessions/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Appwrite-Project': 'shop' },
    body: JSON.stringify({ email: 'own@mail.example', password: 'another long password' }),
  });
  assert.equal(session.status, 201);
});

test('an import that was killed is finished by the same command', async () => {
  const copy = await keyedProject(place, server, 'copy');
  for (const kind of ['users', 'documents', 'files']) {
    const child = spawn('svc', importArgs('copy'), { cwd: place.dir, env: place.env, stdio: 'ignore' });
    for (let tries = 0; tries < 400 && child.exitCode === null; tries++) {
      const there = await reached(copy, kind);
      if (there) break;
    }
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  const { code, err } = await imported('copy');
  assert.equal(code, 0, err);
  // A membership of another project of this installation has the id already.
  const [there, here] = [await readProject(old), await readProject(copy)].map(({ memberships, ...rest }) => rest);
  assert.deepEqual(here, there);
});

async function reached(of: ServedProject, kind: string): Promise<boolean> {
  try {
    const path = {
      users: '/users',
      documents: '/databases/blog/collections/posts/documents',
      files: '/storage/buckets/pictures/files',
    }[kind];
    return (await send(of, 'GET', `${path}?total=true`)).total > 0;
  } catch {
    return false;
  }
}

test('a wrong key, project or endpoint ends at once, and a key with few scopes imports what it may', async () => {
  const run = (args: string[]) => place.svc(args);
  const replaced = (flag: string, value: string) =>
    importArgs('shop').map((one, at, all) => (all[at - 1] === flag ? value : one));
  writeFileSync(join(place.dir, 'wrong.key'), 'standard_wrong');
  for (const [flag, value, exit, type] of [
    ['--key-file', 'wrong.key', 4, 'source_key_refused'],
    ['--source-project', 'none', 3, 'source_project_not_found'],
    ['--endpoint', old.url.replace('/v1', '/v9'), 2, 'usage_invalid'],
    ['--endpoint', 'http://127.0.0.1:20009/v1', 6, 'source_unreachable'],
  ] as const) {
    const { code, err } = await run(replaced(flag, value));
    assert.deepEqual([code, JSON.parse(err).error.type], [exit, type], err);
    assert.doesNotMatch(err, /standard_wrong/);
  }
  await keyedProject(place, server, 'few');
  const { secret } = await other.json<{ secret: string }>([
    'apikey',
    'create',
    '--name',
    'few',
    '--project',
    'old',
    '--scopes',
    'users.read',
  ]);
  writeFileSync(join(place.dir, 'few.key'), secret);
  const { code, out, err } = await run([
    ...replaced('--key-file', 'few.key').map((one) => (one === 'shop' ? 'few' : one)),
    '--report',
    'few.ndjson',
  ]);
  assert.equal(code, 0, err);
  const report: Report = JSON.parse(out);
  assert.ok((countsOf(report, 'users')?.created ?? 0) > 20, out);
  const left = report.unsupported.map(({ kind }) => kind);
  for (const kind of ['teams', 'databases', 'buckets', 'webhooks']) assert.ok(left.includes(kind), out);
  assert.equal(readFileSync(join(place.dir, 'few.ndjson'), 'utf8'), '');
});
