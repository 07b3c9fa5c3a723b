// A login tells nobody by its answer or by its time whether there is such an account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultHashParameters } from '#src/platform/hashing.js';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';

const pairs = 100;
// One lane of the three that the product ships with: a third of the time, in which a difference would show the better.
const hashParameters = { ...defaultHashParameters, scrypt: { ...defaultHashParameters.scrypt, p: 1 } };
const target = await startAppliance({ hashParameters });
const client = createClient(target);

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** What a client can see, without what differs between any two calls. */
function visible({ status, text, headers }: Answer) {
  const changing = ['x-request-id', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit'];
  return { status, text, headers: [...headers].filter(([name]) => !changing.includes(name)) };
}

test(`${2 * pairs} logins, known and unknown address in turn, cannot be told apart`, async (t) => {
  const { email } = await aUser(target);
  const times = { known: [] as number[], unknown: [] as number[] };
  const attempt = async (kind: keyof typeof times, address: string, measured: boolean) => {
    const started = performance.now();
    const answer = await client.post('/account/sessions/email', { email: address, password: 'a wrong password' });
    if (measured) times[kind].push(performance.now() - started);
    return answer.refused(401, 'user_invalid_credentials');
  };
  // The first unknown address pays for the hash that it is compared with; every process has that once.
  await attempt('unknown', 'first@mail.example', false);
  for (let pair = 0; pair < pairs; pair++) {
    const unknown = () => attempt('unknown', `nobody${pair}@mail.example`, true);
    const known = () => attempt('known', email, true);
    // Which comes first changes, so that nothing periodic falls on one of them.
    const answers = pair % 2 === 0 ? [await known(), await unknown()] : [await unknown(), await known()];
    assert.deepEqual(...(answers.map(visible) as [unknown, unknown]));
  }
  const [known, unknown] = [median(times.known), median(times.unknown)];
  const difference = Math.abs(known - unknown);
  t.diagnostic(`medians: known ${known.toFixed(1)} ms, unknown ${unknown.toFixed(1)} ms`);
  assert.ok(difference < 15 || difference < 0.1 * Math.max(known, unknown), `${known} ms, ${unknown} ms`);
});
