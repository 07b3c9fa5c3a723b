// Rate limits that are counted in memory: several servers of one database admit as many calls as one.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const limit = 240;
/** Calls that become available again during a test of at most half a minute. */
const returned = 4;
let place: Installation;
let first: Server;
let second: Server;

before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  // One call becomes available every fifteen seconds.
  place.env.SVC_RATE_LIMITS = `data=${limit}/3600,operations=1000000/60`;
  first = await place.serve();
});
after(() => place.dispose());

/** A caller that no server has seen yet. */
async function newCaller(): Promise<Record<string, string>> {
  const given = ['apikey', 'create', '--project', 'shop', '--name', 'caller', '--scopes', 'users.read'];
  const { secret } = await place.json<{ secret: string }>(given);
  return { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
}

async function isAdmitted(server: Server, headers: Record<string, string>): Promise<boolean> {
  const { status } = await fetch(`${server.url}/users`, { headers });
  assert.ok(status === 200 || status === 429, String(status));
  return status === 200;
}

/** Sends calls to the servers in turn, a few at once, and returns how many were admitted. */
async function admitted(calls: number, servers: readonly Server[], headers: Record<string, string>): Promise<number> {
  let [sent, count] = [0, 0];
  const send = async () => {
    while (sent < calls) {
      const server = servers[sent++ % servers.length];
      if (server !== undefined && (await isAdmitted(server, headers))) count += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, send));
  return count;
}

/** Calls the servers a few times a second for the given time, and returns the number of admitted calls. */
async function admittedFor(seconds: number, server: Server, headers: Record<string, string>): Promise<number> {
  let count = 0;
  for (const until = performance.now() + seconds * 1000; performance.now() < until; await sleep(200))
    count += await admitted(30, [server], headers);
  return count;
}

/** Waits until the first server admits that many calls of a new caller. It learns of other servers every second. */
async function waitForPart(least: number, most: number): Promise<void> {
  const counts: number[] = [];
  while (counts.length < 20) {
    const count = await admitted(limit, [first], await newCaller());
    if (count >= least && count <= most) return;
    counts.push(count);
    await sleep(1000);
  }
  assert.fail(`${counts.join(', ')} calls were admitted`);
}

function between(count: number, least: number, most: number): void {
  assert.ok(count >= least && count <= most, `${count} calls were admitted`);
}

test('one server alone admits the whole limit', async () => {
  between(await admitted(limit + 50, [first], await newCaller()), limit, limit + returned);
});

test('a caller that has used up the limit at one server finds it used up at a server that starts', async () => {
  const caller = await newCaller();
  await admitted(limit, [first], caller);
  second = await place.serve();
  assert.equal(await isAdmitted(first, caller), false);
  await sleep(3000);
  between(await admitted(limit, [first, second], caller), 0, limit / 5);
});

test('two servers together admit the limit once, and each its half', async () => {
  const caller = await newCaller();
  between(await admitted(2 * limit, [first, second], caller), limit - 2, limit + returned);
  await sleep(2500);
  between(await admitted(2 * limit, [first, second], caller), 0, 2 * returned);
});

test('a request of more calls than the part of its server is admitted if nothing of the part is used', async () => {
  const given = ['apikey', 'create', '--project', 'shop', '--name', 'caller', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(given);
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret, 'Content-Type': 'application/json' };
  const fields = Array.from({ length: 15 }, (_, at) => `f${at}: collectionList(databaseId: "none") { total }`);
  const batch = Array.from({ length: 9 }, () => ({ query: `{ ${fields.join(' ')} }` }));
  const request = { method: 'POST', headers, body: JSON.stringify(batch) };
  assert.ok(batch.length * fields.length > limit / 2);
  assert.equal((await fetch(`${first.url}/graphql`, request)).status, 200);
  const refused = await fetch(`${first.url}/graphql`, request);
  assert.equal(refused.status, 429);
});

test('a server that gets all calls of a caller admits most of the limit', async () => {
  const caller = await newCaller();
  const atFirst = await admittedFor(6, first, caller);
  between(atFirst, 0.8 * limit, limit + returned);
  between(await admitted(limit, [second], caller), 1, 0.2 * limit);
});

test('a caller that moves to another server gets its part of the limit there', async () => {
  const caller = await newCaller();
  const before = await admitted(80, [first], caller);
  assert.equal(before, 80);
  const there = await admittedFor(7, second, caller);
  between(before + there, 0.75 * limit, limit + returned);
});

test('the part of a server that stops returns within seconds, and that of a killed one later', async () => {
  second.signal('SIGTERM');
  await second.ended;
  await waitForPart(limit, limit + returned);
  second = await place.serve();
  await waitForPart(limit / 2 - 1, limit / 2 + returned);
  second.signal('SIGKILL');
  await second.ended;
  await waitForPart(limit, limit + returned);
});
