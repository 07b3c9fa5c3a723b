// The network between the server, Postgres, S3 and a receiver of webhooks fails: no acknowledged write is lost, and no response is a 500.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnderTest } from '../harness/appliance.js';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { type DisturbedWay, startToxiproxy, toxiproxyProgram } from './toxiproxy.js';
import { lacks, startServer } from './world.js';

const versitygw = process.env.SVC_TEST_VERSITYGW ?? 'versitygw';
const skip = lacks(toxiproxyProgram, ['-version'], 'Toxiproxy') || lacks(versitygw, ['--version'], 'versitygw');
const clients = 8;
const stageMs = 10_000;
/** The longest that a request may take: the limits of a statement and of a connection to S3, with retries. */
const longestMs = 45_000;

test('latency, resets and a cut of ten seconds', { skip }, async (t) => {
  const toxiproxy = await startToxiproxy();
  const receiver = await startReceiver();
  const ways: DisturbedWay[] = [await toxiproxy.to('receiver', receiver.port)];
  const [toReceiver] = ways as [DisturbedWay];
  const folder = mkdtempSync(join(tmpdir(), 'svc-s3-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'files'));
  const s3 = `http://127.0.0.1:${await freePort()}`;
  const listen = ['--port', new URL(s3).host, '--access', 'world', '--secret', 'a secret', '--quiet'];
  await startServer(versitygw, [...listen, 'posix', folder], s3);
  const toS3 = await toxiproxy.to('s3', Number(new URL(s3).port));
  ways.push(toS3);

  const place = await install();
  after(() => place.dispose());
  if (databaseUnderTest === 'postgres') {
    const url = new URL(String(place.env.SVC_DATABASE_URL));
    const toPostgres = await toxiproxy.to('postgres', Number(url.port));
    url.port = String(toPostgres.port);
    place.env.SVC_DATABASE_URL = url.href;
    ways.push(toPostgres);
  }
  Object.assign(place.env, {
    ...{ SVC_FILES_KEY_ID: 'world', SVC_FILES_SECRET: 'a secret', SVC_RATE_LIMIT: 'off' },
    SVC_FILES_URL: `s3://files/svc?endpoint=${encodeURIComponent(`http://127.0.0.1:${toS3.port}`)}`,
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
  });
  const project = ['--project', 'world'];
  await place.json(['project', 'create', 'World', '--id', 'world']);
  const { secret } = await place.json<{ secret: string }>([
    'apikey',
    'create',
    ...project,
    '--name',
    'k',
    '--scopes',
    'all',
  ]);
  const { url, log } = await place.serve();
  const headers = { 'X-Service-Project': 'world', 'X-Service-Key': secret };
  const json = { ...headers, 'Content-Type': 'application/json' };
  const make = async (path: string, body: object) => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    assert.ok(answer.ok, await answer.text());
  };
  await make('/databases', { databaseId: 'd', name: 'd' });
  await make('/databases/d/collections', { collectionId: 'c', name: 'c' });
  await make('/databases/d/collections/c/attributes/string', { key: 'text', size: 100, required: false });
  await make('/storage/buckets', { bucketId: 'b', name: 'b' });
  const hook = { webhookId: 'w', name: 'w', url: `http://127.0.0.1:${toReceiver.port}`, events: ['documentCreated'] };
  await make('/webhooks', hook);

  const documents = `${url}/databases/d/collections/c/documents`;
  const files = `${url}/storage/buckets/b/files`;
  const created = { documents: new Set<string>(), files: new Set<string>() };
  const statuses = new Map<string, number>();
  let hasEnded = false;
  let longest = 0;
  const call = async (kind: string, request: () => Promise<Response>) => {
    const began = performance.now();
    const status = await request().then(async (response) => (await response.text()) && response.status, String);
    longest = Math.max(longest, performance.now() - began);
    statuses.set(`${kind} ${status}`, (statuses.get(`${kind} ${status}`) ?? 0) + 1);
    return status;
  };
  const load = Array.from({ length: clients }, async (_, client) => {
    for (let at = 0; !hasEnded; at++) {
      const id = `${client}-${at}`;
      if (client === 0) {
        const body = new FormData();
        body.set('fileId', id);
        body.set('file', new Blob([`bytes of ${id}`]), 'a.txt');
        if ((await call('file', () => fetch(files, { method: 'POST', headers, body }))) === 201) created.files.add(id);
      } else {
        const body = JSON.stringify({ documentId: id, data: { text: id } });
        // A retry with the key cannot create it twice, and says whether it was created.
        const keyed = { ...json, 'Idempotency-Key': randomUUID() };
        const status = await call('create', () => fetch(documents, { method: 'POST', headers: keyed, body }));
        if (status === 201) created.documents.add(id);
        await call('list', () => fetch(documents, { headers }));
      }
      await sleep(100);
    }
  });
  const began = new Date().toISOString();
  for (const way of ways) await way.delay(300);
  await sleep(stageMs);
  for (const way of ways) await way.mend();
  for (const until = performance.now() + stageMs; performance.now() < until; await sleep(500))
    for (const way of ways) await way.reset(0.05);
  for (const way of ways) {
    await way.cut();
    await sleep(stageMs);
    await way.mend();
    await sleep(2000);
  }
  hasEnded = true;
  await Promise.all(load);
  t.diagnostic(`${JSON.stringify([...statuses].sort())}; longest request ${Math.round(longest)} ms`);
  const odd = [...statuses.keys()].filter((status) => !/ (200|201|503)$/.test(status));
  assert.deepEqual(odd, []);
  assert.ok(longest < longestMs, `${longest} ms`);
  assert.ok(created.documents.size > 100 && created.files.size > 10);
  assert.doesNotMatch(log(), /"event":"request\.failed"/);

  for (const id of created.documents) assert.equal((await fetch(`${documents}/${id}`, { headers })).status, 200, id);
  for (const id of created.files) {
    const response = await fetch(`${files}/${id}/download`, { headers });
    assert.equal(await response.text(), `bytes of ${id}`);
  }
  await place.json(['webhook', 'replay', 'w', ...project, '--since', began]);
  const missing = () => {
    const told = new Set(receiver.calls.map(({ body }) => JSON.parse(String(body)).data.$id as string));
    return [...created.documents].filter((id) => !told.has(id));
  };
  for (let tries = 0; missing().length > 0 && tries < 120; tries++) await sleep(500);
  assert.deepEqual(missing(), []);
});
