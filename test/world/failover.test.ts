// A synchronous pair of Postgres servers: the primary is killed or hangs under load and its standby is promoted, without a balancer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aBackend } from '../documents/setup.js';
import { aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { startPair } from '../harness/postgres.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { subscribed } from '../realtime/client.js';
import { aWebhook, eventually } from '../webhooks/setup.js';

const skip = databaseUnderTest === 'sqlite' && 'there is no standby';
const rounds = 10;
const writers = 8;
const backMs = 3000;

/** A document that was written: its id, and when it was acknowledged. */
interface Written {
  readonly id: string;
  readonly at: number;
}

/** Some of the ids that are missing. */
function missingIn(seen: ReadonlySet<unknown>, written: readonly Written[]): string[] {
  return written.flatMap(({ id }) => (seen.has(id) ? [] : [id])).slice(0, 5);
}

for (let round = 0; round < rounds; round++) {
  const kills = round % 2 === 0;
  test(`round ${round + 1}: the primary ${kills ? 'is killed' : 'hangs'}, and nothing acknowledged is lost`, {
    skip,
  }, async (context) => {
    const pair = await startPair({ synchronous_standby_names: 'standby' });
    const { primary, standby } = pair;
    const first = await primary.createDatabase('main');
    const both = first.replace(new URL(first).host, `${new URL(first).host},${new URL(standby.url).host}`);
    const settings = { SVC_WEBHOOK_ALLOW_INSECURE: 'true' };
    // A job repeats deliveries whose claim was lost with the primary, after a minute.
    const servers = [await startAppliance({ databaseUrl: both, settings, ticking: true })];
    after(() => Promise.all([primary.stop(), standby.stop()]));
    servers.push(...(await Promise.all(servers.map((server) => server.startSibling()))));
    const [server] = servers;
    assert.ok(server);
    const { collection } = await aBackend(server);
    const some = await collection({ attributes: { n: { type: 'integer' } }, permissions: ['read("any")'] });
    const { documents, id: collectionId } = some;
    const { client: operator, secret } = await aServerKey(server);
    const receiver = await startReceiver();
    await aWebhook(operator, receiver.origin, { events: ['documentCreated'] });
    const channel = `${some.path.slice(1).replaceAll('/', '.')}.documents`;
    const sockets = await Promise.all(servers.map((one) => subscribed(one, [channel])));

    const written: Written[] = [];
    let hasEnded = false;
    const load = Array.from({ length: writers }, async (_, writer) => {
      const client = createClient(servers[writer % servers.length] ?? server, { key: secret });
      for (let at = 0; !hasEnded; at++) {
        const id = `w${writer}-${at}`;
        const { status } = await client.post(documents, { documentId: id, data: { n: at } });
        if (status === 201) written.push({ id, at: performance.now() });
        else await sleep(50);
      }
    });
    await sleep(1500);
    if (kills) await primary.kill();
    else primary.pause();
    await sleep(500);
    await standby.promote();
    const promoted = performance.now();
    while (!written.some(({ at }) => at > promoted) && performance.now() < promoted + 4 * backMs) await sleep(20);
    await sleep(1000);
    hasEnded = true;
    await Promise.all(load);

    const back = written.find(({ at }) => at > promoted);
    assert.ok(back, 'no write was acknowledged after the promotion');
    const ms = Math.round(back.at - promoted);
    const found = new Set<string>();
    const key = createClient(server, { key: secret });
    for (let offset = 0, page = 1; page > 0; offset += page) {
      const queries = [`{"method":"limit","values":[1000]}`, `{"method":"offset","values":[${offset}]}`];
      const query = queries.map((one, at) => `queries[${at}]=${encodeURIComponent(one)}`).join('&');
      const list = (await key.get(`${documents}?${query}`)).expect(200).list('documents');
      for (const { $id } of list) found.add(String($id));
      page = list.length;
    }
    const lost = written.filter(({ id }) => !found.has(id)).map(({ id }) => id);
    await eventually(() => {
      const delivered = receiver.calls.map(({ body }) => JSON.parse(String(body)).data.$id);
      const told = sockets.map((socket) => socket.events().map(({ payload }) => payload.$id));
      const missing = [delivered, ...told].map((seen) => missingIn(new Set(seen), written));
      assert.deepEqual(missing, [[], [], []], 'deliveries, sockets of the first server, sockets of the second');
    }, 120);
    context.diagnostic(`${written.length} documents of ${collectionId}, ${lost.length} lost, back after ${ms} ms`);
    assert.deepEqual(lost, []);
    assert.ok(ms <= backMs, `${ms} ms`);
    for (const one of servers) assert.doesNotMatch(one.log(), /"event":"request\.failed"/);
    if (!kills) primary.resume();
  });
}
