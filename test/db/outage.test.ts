// Postgres goes away under load, once dead and once frozen: nothing that was acknowledged is lost, nobody waits long, and it comes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser, aPerson, signUpBody } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';
import { after } from '../harness/runner.js';

/** The promise is 2 s; a machine with two cores that runs other tests meanwhile gets three times that. */
const boundMs = 6000;
const workers = 3;

/** One request as its sender saw it. */
interface Seen {
  readonly what: 'write' | 'read' | 'ready';
  readonly status: number;
  readonly started: number;
  readonly ended: number;
}

/** Writes, reads and asks for readiness at both servers until told to stop. */
function load(servers: readonly TestAppliance[], session: string) {
  const seen: Seen[] = [];
  const acknowledged: string[] = [];
  let running = true;
  const again = async (what: Seen['what'], ask: () => ReturnType<Client['get']>, pauseMs: number): Promise<void> => {
    while (running) {
      const started = performance.now();
      const { status } = await ask();
      seen.push({ what, status, started, ended: performance.now() });
      await sleep(status < 300 ? pauseMs : 20);
    }
  };
  const write = (client: Client) => async () => {
    const person = signUpBody(aPerson());
    const answer = await client.post('/account', person);
    if (answer.status === 201) acknowledged.push(answer.string('$id'));
    return answer;
  };
  const ends = servers.flatMap((server) => {
    const [guest, user] = [createClient(server), createClient(server, { session })];
    return [
      again('ready', () => guest.get('//readyz'), 20),
      ...Array.from({ length: workers }, () => again('write', write(guest), 1)),
      ...Array.from({ length: workers }, () => again('read', () => user.get('/account'), 1)),
    ];
  });
  return {
    seen,
    acknowledged,
    stop: async () => {
      running = false;
      await Promise.all(ends);
    },
  };
}

/** Waits until every kind of request is answered like that, and returns how long it took. */
async function until(seen: readonly Seen[], from: number, fits: (status: number) => boolean): Promise<number> {
  const all = () =>
    (['write', 'read', 'ready'] as const).map(
      (what) => seen.find((one) => one.what === what && one.started >= from && fits(one.status))?.ended,
    );
  while (all().some((ended) => ended === undefined)) {
    if (performance.now() - from > 30_000) throw new Error('half a minute has passed in vain');
    await sleep(10);
  }
  return Math.max(...all().map((ended) => ended ?? 0)) - from;
}

const postgres = databaseUnderTest === 'postgres' ? await startPostgres() : undefined;
after(() => postgres?.stop());

const outages = [
  ['crashes', 'stopHard', 'start'],
  ['freezes', 'pause', 'resume'],
] as const;
for (const [name, end, begin] of outages) {
  test(`the database ${name} under load`, async (t) => {
    if (postgres === undefined) return;
    const first = await startAppliance({ databaseUrl: await createDatabase(postgres.url, `outage-${end}`) });
    const servers = [first, await first.startSibling()];
    const { secret } = await aLoggedInUser(first);
    const { seen, acknowledged, stop } = load(servers, secret);
    await until(seen, performance.now(), (status) => status < 300);
    await sleep(500);

    const gone = performance.now();
    await postgres[end]();
    const noticed = await until(seen, gone, (status) => status === 503);
    await sleep(1500);
    const whileAway = seen.filter(({ started }) => started > gone + noticed);
    assert.ok(whileAway.length > 0 && whileAway.every(({ status }) => status === 503));

    const back = performance.now();
    await postgres[begin]();
    const recovered = await until(seen, back, (status) => status < 300);
    await sleep(500);
    await stop();

    const waited = Math.max(
      ...seen.filter(({ ended }) => ended > gone && ended < back).map((one) => one.ended - one.started),
    );
    t.diagnostic(
      `503 after ${Math.round(noticed)} ms, longest wait ${Math.round(waited)} ms, back after ${Math.round(recovered)} ms, ` +
        `${acknowledged.length} writes acknowledged, ${seen.length} requests`,
    );
    assert.ok(noticed <= boundMs && waited <= boundMs, `503 after ${noticed} ms, longest wait ${waited} ms`);
    assert.deepEqual([...new Set(seen.map(({ status }) => status))].sort(), [200, 201, 503]);
    const stored = new Set((await rowsOf(first, 'users')).map(({ id }) => id));
    assert.deepEqual(
      acknowledged.filter((id) => !stored.has(id)),
      [],
    );
    for (const server of servers) {
      assert.match(server.log(), /"event":"database.away",.*"code":"\w+"/);
      assert.match(server.log(), /"event":"database.back"/);
      assert.match((await createClient(server).get('//metrics')).text, /^svc_db_up 1$/m);
    }
  });
}
