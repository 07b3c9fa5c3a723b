// What must not tell two kinds of requests apart: status, headers, body and time.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Answer } from './client.js';

/** How many times each kind is asked. */
export const pairs = 100;

/** Of these only the length can be the same. */
const ids = ['$id', '$createdAt', 'userId', 'expire'];
const changing = ['x-request-id', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit'];

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** What a client can see, without what differs between any two calls. */
function visible({ status, body, headers }: Answer) {
  return {
    status,
    body: Object.entries(body).map(([name, value]) => [name, ids.includes(name) ? String(value).length : value]),
    headers: [...headers].filter(([name]) => !changing.includes(name)),
  };
}

/**
 * Asks for what is known and what is not in turn, a hundred times each: equal answers, and medians within 10 % or 15 ms. Where they are not,
 * it asks as often again: what tells the two apart does so both times, and other work of the machine does not.
 */
export async function requireAlike(
  t: TestContext,
  ask: (kind: 'known' | 'unknown', pair: number) => Promise<Answer>,
): Promise<void> {
  const [known, unknown] = await medians(t, ask);
  if (isAlike(known, unknown)) return;
  const [again, other] = await medians(t, ask);
  assert.ok(isAlike(again, other) || known < unknown !== again < other, `${known}, ${unknown}; ${again}, ${other} ms`);
}

function isAlike(known: number, unknown: number): boolean {
  const difference = Math.abs(known - unknown);
  return difference < 15 || difference < 0.1 * Math.max(known, unknown);
}

/** The medians in milliseconds. */
async function medians(
  t: TestContext,
  ask: (kind: 'known' | 'unknown', pair: number) => Promise<Answer>,
): Promise<readonly [known: number, unknown: number]> {
  const times = { known: [] as number[], unknown: [] as number[] };
  const attempt = async (kind: keyof typeof times, pair: number) => {
    const started = performance.now();
    const answer = await ask(kind, pair);
    // What only the first requests of a process pay for is nobody's sign.
    if (pair >= 0) times[kind].push(performance.now() - started);
    return visible(answer);
  };
  for (let pair = -5; pair < pairs; pair++) {
    // Which comes first changes, so that nothing periodic falls on one of them.
    const order = pair % 2 === 0 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const);
    const [first, second] = [await attempt(order[0], pair), await attempt(order[1], pair)];
    assert.deepEqual(first, second);
  }
  const [known, unknown] = [median(times.known), median(times.unknown)];
  t.diagnostic(`medians: known ${known.toFixed(1)} ms, unknown ${unknown.toFixed(1)} ms`);
  return [known, unknown];
}
