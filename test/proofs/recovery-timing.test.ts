// A recovery tells nobody by its answer or by its time whether there is such an account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { page } from './proofs.js';

const pairs = 100;
const target = await startAppliance({ settings: { SVC_TOKENS_IN_RESPONSE: 'key' } });
const client = createClient(target);

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** What a client can see, without what differs between any two calls. */
function visible({ status, body, headers }: Answer) {
  const changing = ['x-request-id', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit'];
  const ids = ['$id', '$createdAt', 'userId', 'expire'];
  return {
    status,
    body: Object.entries(body).map(([name, value]) => [name, ids.includes(name) ? String(value).length : value]),
    headers: [...headers].filter(([name]) => !changing.includes(name)),
  };
}

test(`${2 * pairs} recoveries, known and unknown address in turn, cannot be told apart`, async (t) => {
  const times = { known: [] as number[], unknown: [] as number[] };
  const attempt = async (kind: keyof typeof times, email: string) => {
    const started = performance.now();
    const answer = await client.post('/account/recovery', { email, url: page });
    times[kind].push(performance.now() - started);
    return answer.expect(201);
  };
  for (let pair = 0; pair < pairs; pair++) {
    const { email } = await aUser(target, { id: 'unique()' });
    const unknown = () => attempt('unknown', `nobody${pair}@mail.example`);
    const known = () => attempt('known', email);
    // Which comes first changes, so that nothing periodic falls on one of them.
    const answers = pair % 2 === 0 ? [await known(), await unknown()] : [await unknown(), await known()];
    assert.deepEqual(...(answers.map(visible) as [unknown, unknown]));
  }
  const [known, unknown] = [median(times.known), median(times.unknown)];
  const difference = Math.abs(known - unknown);
  t.diagnostic(`medians: known ${known.toFixed(1)} ms, unknown ${unknown.toFixed(1)} ms`);
  assert.ok(difference < 15 || difference < 0.1 * Math.max(known, unknown), `${known} ms, ${unknown} ms`);
});
