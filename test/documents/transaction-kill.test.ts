// kill -9 in the middle of a commit: afterwards everything of the transaction is there or nothing, and its status says which.
// SVC_TEST_ROUNDS says how often; `npm run test:faults` does it twenty times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { createRandom, seed } from './random.js';

const rounds = Number(process.env.SVC_TEST_ROUNDS ?? 2);
const [operations, each] = [8, 50];
const place = await install({ init: false });
after(() => place.dispose());
const { project, apiKey } = await place.json<{ project: { $id: string }; apiKey: { secret: string } }>([
  ...['init', '--yes', '--project', 'Faults'],
]);
const random = createRandom(seed);
const collections = '/databases/db/collections';
const documents = `${collections}/c/documents`;
const transactions = '/databases/transactions';

type Json = Record<string, unknown>;

async function ask({ url }: Server, method: string, path: string, body?: object): Promise<Json> {
  const headers = {
    'X-Service-Project': project.$id,
    'X-Service-Key': apiKey.secret,
    'Content-Type': 'application/json',
  };
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const answer = (await response.json()) as Json;
  assert.ok(response.status < 300, `${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

/** A transaction that creates many documents and counts itself in one that is there. */
async function staged(server: Server, round: number): Promise<string> {
  const { $id } = await ask(server, 'POST', transactions, {});
  const of = { databaseId: 'db', collectionId: 'c' };
  const creates = Array.from({ length: operations }, (_, at) => ({
    ...{ ...of, action: 'bulkCreate' },
    data: Array.from({ length: each }, (__, next) => ({ $id: `r${round}-${at}-${next}`, n: round })),
  }));
  const count = { ...of, action: 'increment', documentId: 'counter', data: { attribute: 'n' } };
  await ask(server, 'POST', `${transactions}/${$id}/operations`, { operations: [...creates, count] });
  return String($id);
}

/** What the database knows: documents of a round, the counter, and the events and audit entries of all. */
async function found(server: Server, round: number) {
  const query = encodeURIComponent(JSON.stringify({ method: 'equal', attribute: 'n', values: [round] }));
  const id = encodeURIComponent(JSON.stringify({ method: 'startsWith', attribute: '$id', values: ['r'] }));
  const { total } = await ask(server, 'GET', `${documents}?queries[0]=${query}&queries[1]=${id}&total=exact`);
  const { n } = await ask(server, 'GET', `${documents}/counter`);
  const [events] = await place.sql(`select count(*) as n from events where type like 'document%'`);
  const [audit] = await place.sql(`select count(*) as n from audit_entries where action like 'document%'`);
  return { total, counter: Number(n), events: Number(events?.n), audit: Number(audit?.n) };
}

test(`a commit is whole or not at all after each of ${rounds} kills, seed ${seed}`, async (t) => {
  let server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  await ask(server, 'POST', '/databases', { databaseId: 'db', name: 'Db' });
  await ask(server, 'POST', collections, { collectionId: 'c', name: 'c' });
  await ask(server, 'POST', `${collections}/c/attributes/integer`, { key: 'n', required: false });
  await ask(server, 'POST', documents, { documentId: 'counter', data: { n: -1000 } });
  const change = operations * each + 1;
  let changes = 1;
  // How long a commit takes here decides when the others are killed.
  const first = await staged(server, 0);
  const started = performance.now();
  await ask(server, 'PATCH', `${transactions}/${first}`, { commit: true });
  const commitMs = performance.now() - started;
  changes += change;
  const seen: Record<string, number> = {};
  for (let round = 1; round <= rounds; round++) {
    const id = await staged(server, round);
    const before = (await found(server, round)).counter;
    const commit = ask(server, 'PATCH', `${transactions}/${id}`, { commit: true }).then(
      () => true,
      (error: unknown) => {
        // The connection ends with the server, which fetch reports as a TypeError, and with nothing else.
        assert.ok(error instanceof TypeError, String(error));
        return false;
      },
    );
    await sleep((commitMs * (20 + random.below(200))) / 100);
    server.signal('SIGKILL');
    await server.ended;
    const isAnswered = await commit;
    server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
    const { status } = await ask(server, 'GET', `${transactions}/${id}`);
    assert.ok(status === 'committed' || (status === 'pending' && !isAnswered), String(status));
    seen[String(status)] = (seen[String(status)] ?? 0) + 1;
    if (status === 'pending') {
      const none = { total: 0, counter: before, events: changes, audit: changes };
      assert.deepEqual(await found(server, round), none);
      await ask(server, 'PATCH', `${transactions}/${id}`, { commit: true });
    }
    changes += change;
    const all = { total: operations * each, counter: before + 1, events: changes, audit: changes };
    assert.deepEqual(await found(server, round), all);
    assert.deepEqual(
      await place.sql('select count(*) as n from transaction_operations').then(([row]) => Number(row?.n)),
      0,
    );
  }
  t.diagnostic(`a commit of ${change} changes takes ${Math.round(commitMs)} ms; ${JSON.stringify(seen)}, seed ${seed}`);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
