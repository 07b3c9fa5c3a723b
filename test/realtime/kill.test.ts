// A server is killed while 2000 documents are created: what the socket of the published web SDK missed is in the feed, and both together hold
// every event once, in Node.js and in Chromium. On Postgres a second server goes on meanwhile, and its sockets miss nothing.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'appwrite';
import { servePage } from '../browser/page.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { openChromium } from '../harness/browser.js';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';
import { actAsBrowser } from './as-browser.js';

const changes = 2000;
const writers = 8;
const channel = 'databases.d.collections.c.documents';

interface Told {
  readonly id: string;
  readonly document: string;
}

/** What a subscribed SDK has been told so far, across connections that are lost. */
type Listener = () => Promise<readonly Told[]>;

const place = await install();
after(() => place.dispose());
place.env.SVC_RATE_LIMIT = 'off';
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'd', '--project', 'shop', '--id', 'd']);
const { secret } = await place.json<{ secret: string }>([
  ...['apikey', 'create', '--project', 'shop', '--name', 'k', '--scopes', 'all'],
]);
const port = { SVC_PORT: String(await freePort()) };
let victim = await place.serve([], port);
const { url } = victim;
const urls = databaseUnderTest === 'postgres' ? [url, (await place.serve()).url] : [url];
actAsBrowser();
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
const asJson = { ...headers, 'Content-Type': 'application/json' };
const made = await fetch(`${url}/databases/d/collections`, {
  method: 'POST',
  headers: asJson,
  body: JSON.stringify({ collectionId: 'c', name: 'c', permissions: ['read("any")'] }),
});
assert.equal(made.status, 201, await made.text());

/** Subscribes the SDK in this process. */
function listen(at: string): Listener {
  const told: Told[] = [];
  const client = new Client().setEndpoint(at).setProject('shop');
  const end = client.subscribe<{ $id: string }>(channel, (event) => {
    const { id, payload } = event as typeof event & { id: string };
    told.push({ id, document: payload.$id });
  });
  after(end);
  return async () => [...told];
}

/** Subscribes the SDK on pages of Chromium. */
async function inChromium(t: TestContext): Promise<((at: string) => Promise<Listener>) | undefined> {
  const chromium = await openChromium(t);
  if (chromium === undefined) return undefined;
  t.after(() => chromium.close());
  return async (at) => {
    const site = await servePage(at.replace('127.0.0.1', 'localhost'), 'shop');
    t.after(() => site.close());
    const page = await chromium.newPage();
    await page.goto(`http://localhost:${site.port}/`);
    await page.evaluate(
      `globalThis.told = []; client.subscribe('${channel}', ({ id, payload }) => told.push({ id, document: payload.$id })); undefined`,
    );
    return async () => (await page.evaluate('told')) as Told[];
  };
}

/** Creates documents until one of them is told: the SDK does not say when it is subscribed. */
async function heardOf(listener: Listener): Promise<void> {
  const before = (await listener()).length;
  let told = before;
  for (let tries = 0; told === before && tries < 100; tries++) {
    await create(url, 'unique()');
    await sleep(250);
    told = (await listener()).length;
  }
  assert.ok(told > before);
}

/** Everything that the feed has after an event, or from the beginning; at least so many events, or what has come in half a minute. */
async function feedAfter(id: string | undefined, atLeast: number): Promise<Told[]> {
  const stream = new AbortController();
  const response = await fetch(`${url}/events${id === undefined ? '?cursor=0' : ''}`, {
    headers: { ...headers, Accept: 'text/event-stream', ...(id === undefined ? {} : { 'Last-Event-ID': id }) },
    signal: stream.signal,
  });
  assert.equal(response.status, 200);
  const told: Told[] = [];
  let [rest, quietSince] = ['', performance.now()];
  const decoder = new TextDecoder();
  const read = (async () => {
    for await (const chunk of response.body ?? []) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts.filter((one) => one.startsWith('id: '))) {
        const event = JSON.parse(part.slice(part.indexOf('\ndata: ') + 7));
        if (event.type === 'documentCreated') told.push({ id: event.id, document: event.data.$id });
      }
      quietSince = performance.now();
    }
  })().catch(() => {});
  const until = performance.now() + 30_000;
  const isQuiet = () => performance.now() - quietSince > 3000;
  while (!isQuiet() || (told.length < atLeast && performance.now() < until)) await sleep(100);
  stream.abort();
  await read;
  return told;
}

async function create(at: string, documentId: string): Promise<number | undefined> {
  const body = JSON.stringify({ documentId, data: {} });
  const answer = await fetch(`${at}/databases/d/collections/c/documents`, {
    method: 'POST',
    headers: asJson,
    body,
  }).catch(() => undefined);
  return answer?.status;
}

/** Creates documents one after the other at a server; one whose answer is lost is asked for again under its id. */
async function write(run: string, from: number): Promise<void> {
  for (let at = from; at < changes; at += writers)
    for (;;) {
      const status = await create(urls[from % urls.length] ?? url, `${run}${at}`);
      if (status === 201 || status === 409) break;
      await sleep(100);
    }
}

const assertNoneTwice = (told: readonly Told[]) => assert.equal(new Set(told.map(({ id }) => id)).size, told.length);

async function assertNothingLost(run: string, listenAt: (at: string) => Promise<Listener> | Listener): Promise<void> {
  const counted = (told: readonly Told[]) =>
    told.filter(({ document }) => document.startsWith(run) && /^\d+$/.test(document.slice(run.length)));
  const [own, ...others] = await Promise.all(urls.map(listenAt));
  assert.ok(own);
  for (const listener of [own, ...others]) await heardOf(listener);
  const writing = Promise.all(Array.from({ length: writers }, (_, at) => write(run, at)));
  while (counted(await own()).length < changes / 4) await sleep(20);
  victim.signal('SIGKILL');
  await victim.ended;
  await sleep(200);
  const before = await own();
  assert.ok(counted(before).length < changes, `${before.length}`);
  victim = await place.serve([], port);
  await writing;
  await heardOf(own);
  const gap = await feedAfter(before.at(-1)?.id, changes - counted(before).length);
  const told = await own();
  assertNoneTwice(told);
  assertNoneTwice(gap);
  const all = new Map(counted([...told, ...gap]).map((one) => [one.id, one.document]));
  assert.equal(all.size, changes);
  assert.equal(new Set(all.values()).size, changes);
  // The feed has the whole gap, so whatever the new socket was told is in it.
  const known = new Set(gap.map(({ id }) => id));
  assert.ok(told.slice(before.length).every(({ id }) => known.has(id)));
  for (const listener of others) {
    for (let tries = 0; counted(await listener()).length < changes && tries < 300; tries++) await sleep(100);
    const heard = await listener();
    assertNoneTwice(heard);
    assert.deepEqual(new Map(counted(heard).map((one) => [one.id, one.document])), all);
  }
}

test('socket and feed together hold each of 2000 events once', () => assertNothingLost('n', listen));

test('in Chromium, socket and feed together hold each of 2000 events once', async (t) => {
  const listenAt = await inChromium(t);
  if (listenAt !== undefined) await assertNothingLost('c', listenAt);
});
