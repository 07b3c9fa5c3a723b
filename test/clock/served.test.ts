// The real server while its clock is set, ahead and back and to what it was, under light load: it answers on, and everything goes on.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clockSkewSeconds } from '#src/contract/limits.js';
import { root } from '../harness/checkout.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { day, hour } from '../harness/clock.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { bodyOf } from '../webhooks/setup.js';

type Json = Record<string, unknown>;

const steps = [
  ['back by six hours', -6 * hour],
  ['back by 120 days', -120 * day],
  ['ahead by two days', 2 * day],
  ['ahead by thirty days', 30 * day],
  ['ahead by 25 years', 25 * 365 * day],
] as const;

const receiver = await startReceiver();
let place: Installation;
let server: Server;
let key = '';
let load: ReturnType<typeof startLoad>;
const clockFile = () => join(place.dir, 'clock');
/** The server's time, and with what it differs from the machine's. */
let shift = 0;
const now = () => Date.now() + shift;

async function call(method: string, path: string, credentials: Record<string, string> = {}, body?: Json) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'X-Service-Project': 'shop', ...credentials, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Json,
    text,
  };
}
const asKey = () => ({ 'X-Service-Key': key });
const asUser = (secret: string) => ({ 'X-Service-Session': secret });
const asBearer = (jwt: string) => ({ 'X-Service-JWT': jwt });

async function demand(status: number, ...given: Parameters<typeof call>) {
  const answer = await call(...given);
  assert.equal(answer.status, status, `${given[0]} ${given[1]}: ${answer.text}`);
  return answer;
}

let people = 0;
/** Somebody new, who signs up and logs in. */
async function aPerson() {
  people += 1;
  const credentials = { email: `person${people}@mail.example`, password: `long enough ${people}` };
  await demand(201, 'POST', '/account', asKey(), { userId: 'unique()', ...credentials });
  return { ...credentials, ...(await logIn(credentials)) };
}
async function logIn({ email, password }: { email: string; password: string }) {
  const { body } = await demand(201, 'POST', '/account/sessions/email', {}, { email, password });
  const jwt = await demand(201, 'POST', '/account/jwts', asUser(String(body.secret)), { alg: 'RS256' });
  return { secret: String(body.secret), jwt: String(jwt.body.jwt) };
}

let documents = 0;
/** Creates a document, and waits until the receiver was told. */
async function aDelivery(): Promise<void> {
  documents += 1;
  const documentId = `document-${documents}`;
  await demand(201, 'POST', '/databases/main/collections/orders/documents', asKey(), { documentId, data: {} });
  await until(`the delivery of ${documentId}`, () =>
    receiver.calls.some((one) => (bodyOf(one).data as Json).$id === documentId),
  );
}

async function until(what: string, holds: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  for (const end = performance.now() + patienceMs; !(await holds()); await sleep(100))
    assert.ok(performance.now() < end, `${what} did not come: ${server.log().split('\n').slice(-5).join('\n')}`);
}

/** Asks for `/healthz` and a list of documents all the time; tells the longest wait, and what was not answered 200. */
function startLoad() {
  let running = true;
  let longest = 0;
  const failed: string[] = [];
  const ask = async (path: string, credentials: Record<string, string>) => {
    while (running) {
      const begun = performance.now();
      const answer = await call('GET', path, credentials).catch((error: unknown) => ({
        status: 0,
        text: String(error),
      }));
      if (path === '/healthz') longest = Math.max(longest, performance.now() - begun);
      if (answer.status !== 200) failed.push(`${path} ${answer.status} ${answer.text}`);
      await sleep(50);
    }
  };
  const asking = [ask('/healthz', {}), ask('/databases/main/collections/orders/documents', asKey())];
  return {
    /** Since it was asked last. */
    take: () => {
      const seen = { longest, failed: failed.splice(0) };
      longest = 0;
      return seen;
    },
    stop: async () => {
      running = false;
      await Promise.all(asking);
    },
  };
}

/** Sets the clock of the server and waits until it tells so. */
async function setClock(to: number): Promise<void> {
  load.take();
  shift = to;
  writeFileSync(clockFile(), String(to));
  const told = () => Date.parse(/"time":"([^"]+)"/.exec(server.log().trimEnd().split('\n').at(-1) ?? '')?.[1] ?? '');
  await until('the new time', () => Math.abs(told() - now()) < 10_000);
}

/** Every job whose slot was passed over, and each that repeats, has run since the clock was set. */
async function jobsGoOn(since: number): Promise<void> {
  const done = async () => {
    const rows = await place.sql('select name, last_success_at, last_slot, lease_until from cron_jobs');
    const late = rows.filter((row) => {
      const last = Date.parse(String(row.last_success_at));
      return (
        ['courier.send', 'clock.settle'].includes(String(row.name)) && !(last >= since - 5000 && last <= now() + 5000)
      );
    });
    return (
      late.length === 0 && rows.every((row) => Date.parse(String(row.last_slot)) <= now() + clockSkewSeconds * 1000)
    );
  };
  await until('the jobs', done, 30_000);
}

before(async () => {
  place = await install();
  writeFileSync(clockFile(), '0');
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  place.env.SVC_RATE_LIMITS = 'data=100000/60,signup=100000/60';
  const shop = ['--project', 'shop'];
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'Main', ...shop, '--id', 'main']);
  await place.json(['collection', 'create', 'Orders', ...shop, '--database', 'main', '--id', 'orders']);
  const made = await place.json<{ secret: string }>([
    ...['apikey', 'create', ...shop, '--name', 'test', '--scopes', 'all'],
  ]);
  key = made.secret;
  const events = ['--url', receiver.origin, '--events', 'documentCreated'];
  await place.json(['webhook', 'add', ...shop, '--id', 'hook', '--name', 'hook', ...events]);
  server = await place.serve([], {
    NODE_OPTIONS: `--require ${join(root, 'test/clock/shifted.cjs')}`,
    SVC_TEST_CLOCK_FILE: clockFile(),
  });
  load = startLoad();
});
after(async () => {
  await load?.stop();
  await place?.dispose();
});

for (const [name, step] of steps) {
  test(`the clock is set ${name}, and then back`, async () => {
    const known = await aPerson();
    const wrong = { email: known.email, password: 'a wrong one' };
    for (let tries = 0; tries < 3; tries++) await demand(401, 'POST', '/account/sessions/email', {}, wrong);
    await aDelivery();

    let since = now() + step;
    await setClock(step);
    const isOver = step >= 30 * day;
    await demand(isOver ? 401 : 200, 'GET', '/account', asUser(known.secret));
    await demand(401, 'GET', '/account', asBearer(known.jwt));
    const again = await logIn(known);
    await demand(200, 'GET', '/account', asUser(again.secret));
    await demand(200, 'GET', '/account', asBearer(again.jwt));
    assert.equal(((await demand(200, 'GET', '/keys')).body.keys as Json[]).length > 0, true);
    await aDelivery();
    await jobsGoOn(since);
    const during = load.take();

    since = Date.now();
    await setClock(0);
    // A session that was opened long ago by now, or ends later than any can; a token that expired since, or was issued ahead.
    const isOutOfTime = step < -30 * day || step > 365 * day;
    await demand(isOutOfTime ? 401 : 200, 'GET', '/account', asUser(again.secret));
    await demand(401, 'GET', '/account', asBearer(again.jwt));
    const last = await logIn(known);
    await demand(200, 'GET', '/account', asUser(last.secret));
    await demand(200, 'GET', '/account', asBearer(last.jwt));
    await aDelivery();
    await jobsGoOn(since);
    for (const { longest, failed } of [during, load.take()]) {
      assert.ok(longest < 3000, `healthz took ${longest} ms`);
      assert.deepEqual(failed, []);
    }
  });
}
