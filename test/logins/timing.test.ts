// A request of a link or a code tells nobody by its answer or by its time whether there is such an account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { aContact, ask, sentLogins, withSms } from './setup.js';

const pairs = 100;
const target = await startAppliance({ settings: withSms });
const client = createClient(target);

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** What a client can see, without ids, times and what differs between any two calls. */
function visible({ status, body, headers }: Answer) {
  const changing = ['x-request-id', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit'];
  const { $id: _, $createdAt: __, expire: ___, ...rest } = body;
  return { status, rest, headers: [...headers].filter(([name]) => !changing.includes(name)) };
}

for (const way of sentLogins) {
  test(`${2 * pairs} requests of a ${way.name}, known and unknown in turn, cannot be told apart`, async (t) => {
    const contact = aContact(way.channel);
    const { id } = await aUser(target, way.channel === 'email' ? { email: contact } : {});
    if (way.channel === 'phone') await runSql(target, 'update users set phone = ? where id = ?', [contact, id]);
    const times = { known: [] as number[], unknown: [] as number[] };
    const attempt = async (kind: keyof typeof times, to: string, measured: boolean) => {
      const started = performance.now();
      const answer = await ask(client, way, to, { userId: 'the-same-id' });
      if (measured) times[kind].push(performance.now() - started);
      return answer.expect(201);
    };
    for (let warm = 0; warm < 5; warm++) {
      await attempt('known', contact, false);
      await attempt('unknown', aContact(way.channel), false);
    }
    for (let pair = 0; pair < pairs; pair++) {
      const unknown = () => attempt('unknown', aContact(way.channel), true);
      const known = () => attempt('known', contact, true);
      // Which comes first changes, so that nothing periodic falls on one of them.
      const answers = pair % 2 === 0 ? [await known(), await unknown()] : [await unknown(), await known()];
      assert.deepEqual(...(answers.map(visible) as [unknown, unknown]));
    }
    const [known, unknown] = [median(times.known), median(times.unknown)];
    const difference = Math.abs(known - unknown);
    t.diagnostic(`medians: known ${known.toFixed(1)} ms, unknown ${unknown.toFixed(1)} ms`);
    assert.ok(difference < 15 || difference < 0.1 * Math.max(known, unknown), `${known} ms, ${unknown} ms`);
  });
}
