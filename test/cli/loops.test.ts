// Commands beside a server under load: nobody's request fails, and nobody waits long.
// SVC_TEST_SECONDS says how long the commands run; the load alone is measured for a third of it, and for five seconds at least.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install } from '../harness/cli.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { prepareLoad } from './load.js';

const seconds = Number(process.env.SVC_TEST_SECONDS ?? 8);
const aloneSeconds = Math.max(5, seconds / 3);
/** The machine of the test has other work too: what is faster than this is not told apart. */
const leastP99 = 5;
const shop = ['--project', 'shop'];
const main = [...shop, '--database', 'main'];

/** What the loops add and take away again. */
const leftOver = `select (select count(*) from webhooks) as webhooks, (select count(*) from api_keys) as keys,
  (select count(*) from collections) as collections, (select count(*) from users) as users`;

/** The commands of one turn, those of the second loop with other ids and another job. No user gets an id that one had before. */
function turnOf(loop: number, turn: number, receiver: string): (readonly string[])[] {
  const [id, user, email] = [`loop${loop}`, `loop${loop}-${turn}`, `loop${loop}@example.com`];
  const job = loop === 0 ? 'database.optimize' : 'webhooks.prune';
  return [
    ['webhook', 'add', ...shop, '--id', id, '--name', id, '--url', receiver, '--events', 'documentCreated'],
    ['user', 'create', ...shop, '--id', user, '--email', email, '--password-stdin'],
    ['webhook', 'list', ...shop],
    ['collection', 'add-attribute', 'orders', id, ...main, '--type', 'string', '--size', '20'],
    ['collection', 'add-index', 'orders', id, ...main, '--attributes', id],
    ['project', 'update', 'shop', '--name', `Shop ${loop}`, '--set', `session.limit=${20 + loop}`],
    ['webhook', 'test', id, ...shop],
    ['user', 'block', user, ...shop],
    ['apikey', 'create', ...shop, '--name', id, '--scopes', 'all'],
    ['collection', 'remove-index', 'orders', id, ...main],
    ['collection', 'remove-attribute', 'orders', id, ...main, '--yes'],
    ['collection', 'create', id, ...main, '--id', id],
    ['cron', 'run', job],
    ['apikey', 'revoke', id, ...shop, '--yes'],
    ['collection', 'delete', id, ...main, '--confirm', id],
    ['user', 'delete', user, ...shop, '--yes'],
    ['webhook', 'remove', id, ...shop, '--yes'],
  ];
}

/** Runs whole turns until the time is over; returns how many. */
async function loop(place: Installation, commandsOf: (turn: number) => (readonly string[])[]): Promise<number> {
  const until = performance.now() + seconds * 1000;
  for (let turns = 0; ; turns++) {
    if (performance.now() > until) return turns;
    for (const args of commandsOf(turns)) {
      const { code, err } = await place.svc(args, { input: 'correct horse battery\n', fresh: true });
      assert.equal(code, 0, `svc ${args.join(' ')}: ${err}`);
    }
  }
}

test(`two loops of commands for ${seconds} s beside a loaded server: no request fails, and p99 stays below 20 x alone`, async (t) => {
  const place = await install();
  after(() => place.dispose());
  const receiver = await startReceiver();
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  const server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  const load = await prepareLoad(place, server);
  const [before] = await place.sql(leftOver);

  const alone = await load.run(sleep(aloneSeconds * 1000));
  const loops = Promise.all([0, 1].map((number) => loop(place, (turn) => turnOf(number, turn, receiver.origin))));
  const beside = await load.run(loops);
  const turns = (await loops).reduce((sum, one) => sum + one, 0);
  const told = ({ requests, p99 }: typeof alone) => `${requests} requests, p99 ${p99.toFixed(1)} ms`;
  t.diagnostic(`alone: ${told(alone)}; with ${turns * turnOf(0, 0, '').length} commands beside: ${told(beside)}`);

  assert.deepEqual([alone.failures, beside.failures], [[], []]);
  assert.ok(beside.p99 < 20 * Math.max(leastP99, alone.p99), told(beside));
  assert.ok(turns >= 2 && beside.requests > seconds * 50, told(beside));

  assert.deepEqual(await place.sql(leftOver), [before]);
  const audit = await place.sql(`select action, count(*) as times from audit_entries
    where actor_id = 'cli' and action in ('webhookCreated', 'webhookDeleted', 'accountDeleted') group by action order by action`);
  assert.deepEqual(
    audit.map(({ action, times }) => [action, Number(times)]),
    ['accountDeleted', 'webhookCreated', 'webhookDeleted'].map((action) => [action, turns]),
  );
  assert.ok(receiver.calls.length >= turns);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
  assert.doesNotMatch(server.log(), /"level":"error"|webhooks[.]failed/);
});
