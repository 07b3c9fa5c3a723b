// kill -9 in the middle of schema changes: afterwards each change is there or not, whole, and what was answered is there.
// SVC_TEST_ROUNDS says how often; `npm run test:faults` does it twenty times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { createRandom, seed } from './random.js';
import { verifyTables } from './tables.js';

const rounds = Number(process.env.SVC_TEST_ROUNDS ?? 2);
const place = await install({ init: false });
after(() => place.dispose());
const { project, apiKey } = await place.json<{ project: { $id: string }; apiKey: { secret: string } }>([
  ...['init', '--yes', '--project', 'Faults'],
]);
const random = createRandom(seed);
const base = '/databases/db/collections';
const collections = ['c0', 'c1', 'c2'];

interface Answer {
  readonly status: number;
  readonly body: {
    readonly total?: number;
    readonly attributes?: readonly { key: string; type: string }[];
    readonly indexes?: readonly { key: string; type: string }[];
    v?: unknown;
  };
}

async function ask({ url }: Server, method: string, path: string, body?: object): Promise<Answer> {
  const headers = {
    'X-Service-Project': project.$id,
    'X-Service-Key': apiKey.secret,
    'Content-Type': 'application/json',
  };
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

/** What was answered: which attributes are there and which are gone; what was under way when the server died is in neither. */
const answered = new Map<string, boolean>();
let made = 0;

/** Changes the schema of one collection until the server is gone. */
async function change(server: Server, id: string): Promise<void> {
  const path = `${base}/${id}`;
  const done = async (method: string, what: string, body?: object) => {
    const { status, body: answer } = await ask(server, method, what, body);
    assert.ok(status < 300, `${method} ${what}: ${status} ${JSON.stringify(answer)}`);
  };
  // The last kill may have left one, and an attribute has one at most.
  const { indexes = [] } = (await ask(server, 'GET', path)).body;
  for (const { key, type } of indexes) if (type === 'fulltext') await done('DELETE', `${path}/indexes/${key}`);
  for (;;) {
    made += 1;
    const key = `k${made}`;
    const name = `${id}.${key}`;
    await done('POST', `${path}/attributes/integer`, { key, required: false });
    answered.set(name, true);
    await done('POST', `${path}/indexes`, { key, type: 'key', attributes: [key] });
    await done('POST', `${path}/documents`, { documentId: 'unique()', data: { [key]: made } });
    await done('DELETE', `${path}/indexes/${key}`);
    await done('POST', `${path}/indexes`, { key: `words${key}`, type: 'fulltext', attributes: ['text'] });
    await done('DELETE', `${path}/indexes/words${key}`);
    if (random.chance(0.8)) {
      answered.delete(name);
      await done('DELETE', `${path}/attributes/${key}`);
      answered.set(name, false);
    }
    await done('POST', base, { collectionId: `t-${key}`, name: key });
    const relation = { relatedCollectionId: id, type: 'manyToOne', twoWay: true, key: 'one', twoWayKey: `r${made}` };
    await done('POST', `${base}/t-${key}/attributes/relationship`, relation);
    if (random.chance(0.5)) await done('DELETE', `${base}/t-${key}/attributes/one`);
    await done('DELETE', `${base}/t-${key}`);
  }
}

/** Everything that was answered is as it was answered, and documents can be read and written. */
async function verifyAnswers(server: Server): Promise<void> {
  for (const id of collections) {
    const { body } = await ask(server, 'GET', `${base}/${id}`);
    const values = (body.attributes ?? []).filter(({ type }) => type !== 'relationship');
    const keys = values.map(({ key }) => key);
    for (const [name, there] of answered)
      if (name.startsWith(`${id}.`)) assert.equal(keys.includes(name.slice(id.length + 1)), there, name);
    const documents = `${base}/${id}/documents`;
    const before = (await ask(server, 'GET', documents)).body.total ?? Number.NaN;
    const data = Object.fromEntries(keys.map((key, at) => [key, key === 'text' ? 'some words' : at]));
    const created = await ask(server, 'POST', documents, { documentId: 'unique()', data });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.equal((await ask(server, 'GET', documents)).body.total, before + 1);
  }
}

test(`a schema is the old one or the new one after each of ${rounds} kills, seed ${seed}`, async (t) => {
  const started = performance.now();
  let server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  assert.equal((await ask(server, 'POST', '/databases', { databaseId: 'db', name: 'Db' })).status, 201);
  for (const id of collections)
    assert.equal((await ask(server, 'POST', base, { collectionId: id, name: id })).status, 201);
  for (const id of collections)
    await ask(server, 'POST', `${base}/${id}/attributes/string`, { key: 'text', size: 50, required: false });
  let columns = 0;
  for (let round = 0; round < rounds; round++) {
    // The changes end with the connection, which fetch reports as a TypeError, and with nothing else.
    const changes = collections.map((id) => assert.rejects(change(server, id), TypeError));
    await sleep(40 + random.below(300));
    server.signal('SIGKILL');
    await server.ended;
    await Promise.all(changes);
    columns = await verifyTables(place);
    server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
    await verifyAnswers(server);
  }
  assert.ok(made > rounds, String(made));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  t.diagnostic(`${rounds} kills, ${made} attributes made, ${columns} columns left, ${seconds} s, seed ${seed}`);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
