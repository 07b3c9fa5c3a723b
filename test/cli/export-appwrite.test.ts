// svc export --format appwrite: a project leaves svc as requests that the API of Appwrite takes; here another svc takes them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import {
  assertAllLogIn,
  fillProject,
  keyedProject,
  readProject,
  type ServedProject,
  send,
} from '../harness/whole-project.js';

let place: Installation;
let other: Installation;
let server: Server;
let otherServer: Server;
let shop: ServedProject;
before(async () => {
  [place, other] = await Promise.all([install(), install()]);
  // Appwrite cannot verify hashes of svc's scrypt.
  for (const one of [place, other]) Object.assign(one.env, { SVC_RATE_LIMIT: 'off', SVC_PASSWORD_HASH: 'argon2id' });
  [server, otherServer] = await Promise.all([place.serve(), other.serve()]);
  shop = await keyedProject(place, server, 'shop');
  await fillProject(shop);
});
after(() => Promise.all([place?.dispose(), other?.dispose()]));

test('an exported project is the same after its requests were sent, and a second run changes nothing', async () => {
  const { memberships } = await send(shop, 'GET', '/teams/crew/memberships');
  const ofMember = `update("member:${memberships[0].$id}")`;
  const post = '/databases/blog/collections/posts/documents/post-1';
  const { $permissions } = await send(shop, 'GET', post);
  const data = { $updatedAt: '2022-03-04T05:06:07.008+00:00' };
  await send(shop, 'PATCH', post, { permissions: [...$permissions, ofMember], data });
  const exported = await place.json<{ unsupported: { kind: string; count: number }[] }>([
    ...['export', '--project', 'shop', '--format', 'appwrite', '--to', 'out'],
  ]);
  assert.deepEqual(
    exported.unsupported.map(({ kind, count }) => `${count} ${kind}`),
    ['1 permissions', '1 keys'],
  );
  await send(shop, 'PATCH', post, { permissions: $permissions, data });
  for (const [name, mode] of [
    ['', 0o700],
    ['2-users.ndjson', 0o600],
    ['files/pictures', 0o700],
    ['files/pictures/large', 0o600],
  ] as const)
    assert.equal(statSync(join(out(), name)).mode & 0o777, mode, name);
  const again = await place.svc(['export', '--project', 'shop', '--format', 'appwrite', '--to', 'out']);
  assert.deepEqual([again.code, /has files in it/.test(again.err)], [2, true], again.err);
  const texts = ['4-documents', '6-webhooks'].map((name) => readFileSync(join(out(), `${name}.ndjson`), 'utf8'));
  assert.doesNotMatch(texts[0] ?? '', /"author"|"tags"|member:/);
  assert.match(texts[1] ?? '', /"events":\["databases\.\*\.collections\.\*\.documents\.\*\.create"\],"enabled":false/);

  const copy = await copiedProject('copy');
  const first = await sendTo(copy);
  assert.match(first.out, /^3-memberships \{"sent":3,"before":0,"existed":0,"failed":0\}$/m, first.err);
  assert.equal(first.code, 0, first.err);
  const [there, here] = [await readProject(shop), await readProject(copy)].map(withoutTimes);
  assert.deepEqual(here, there);

  await send(copy, 'PUT', '/users/own/labels', { labels: ['local'] });
  await send(copy, 'PATCH', '/users/caller/status', { status: true });
  await send(copy, 'PATCH', post, { data: { author: 'author-2' } });
  const changed = await readProject(copy);
  // A second export knows nothing of the first one.
  await place.json(['export', '--project', 'shop', '--format', 'appwrite', '--to', 'second']);
  for (const directory of [out(), join(place.dir, 'second')]) {
    const run = await sendTo(copy, directory);
    assert.deepEqual([run.code, /"sent":[1-9]/.test(run.out)], [0, false], run.out);
    assert.deepEqual(await readProject(copy), changed);
  }
  await assertAllLogIn(copy);
});

test('a sender that is killed goes on without a loss, and stops if nobody answers', async () => {
  const copy = await copiedProject('killed');
  const gate = await startGate(copy.url);
  // The answer to the last request before each kill is lost.
  for (const requests of [3, 20, 40, 60]) await sendTo({ ...copy, url: gate.url }, out(), gate.next(requests));
  const last = await sendTo({ ...copy, url: gate.url });
  gate.close();
  assert.equal(last.code, 0, last.err);
  const [there, here] = [await readProject(shop, false), await readProject(copy, false)].map(withoutTimes);
  assert.deepEqual(here, there);
  const refused = await sendTo({ ...copy, url: gate.url });
  assert.equal(refused.code, 1);
  assert.match(refused.err, /takes nothing\. It cannot be reached: ECONNREFUSED/);
  const unknown = await sendTo({ ...copy, project: 'absent' });
  assert.deepEqual([unknown.code, unknown.out, /project_not_found/.test(unknown.err)], [1, '', true], unknown.err);
});

const out = () => join(place.dir, 'out');

/** A project on the other server with the schema of the export. */
async function copiedProject(id: string): Promise<ServedProject> {
  const copy = await keyedProject(other, otherServer, id);
  await other.json(['project', 'apply', '--file', join(out(), 'appwrite.config.json'), '--project', id]);
  return copy;
}

/** Runs the sender, and kills it when the promise is fulfilled. */
async function sendTo({ url, project, key }: ServedProject, directory = out(), end?: Promise<void>) {
  const env = { ...process.env, APPWRITE_ENDPOINT: url, APPWRITE_PROJECT_ID: project, APPWRITE_API_KEY: key };
  const child = spawn(process.execPath, [join(directory, 'send.mjs')], { env });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    texts.out += text;
  });
  child.stderr.on('data', (text) => {
    texts.err += text;
  });
  end?.then(() => child.kill('SIGKILL'));
  const [code] = await once(child, 'close');
  return { ...texts, code };
}

/** A proxy that keeps the answer of the n-th request to itself. */
async function startGate(target: string) {
  let left = Number.POSITIVE_INFINITY;
  let onLast = () => {};
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', headers } = request;
    const { host, connection, 'content-length': length, 'transfer-encoding': encoding, ...rest } = headers;
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const sent = { method, headers: rest as Record<string, string>, ...body };
    const answer = await fetch(new URL(request.url ?? '', target), sent);
    left -= 1;
    if (left === 0) return onLast();
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`,
    next: (requests: number) => {
      left = requests;
      return new Promise<void>((resolve) => {
        onLast = resolve;
      });
    },
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

/** Removes members that the API sets itself: ids and times of memberships, times of users and files. */
function withoutTimes(project: Record<string, unknown>): unknown {
  const own = ['invited', 'joined', 'passwordUpdate'];
  return JSON.parse(JSON.stringify(project), function (this: Record<string, unknown>, name, value) {
    if (own.includes(name) || (name === '$id' && 'teamName' in this)) return '';
    return ['$createdAt', '$updatedAt'].includes(name) && 'sizeOriginal' in this ? '' : value;
  });
}
