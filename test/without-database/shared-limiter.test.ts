// Limits over several processes: whatever calls arrive where, and in whatever order the processes read and write, the limit holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Claim, SharedLimiter } from '#src/platform/admission/shared-limiter.js';
import { createRandom } from '../documents/random.js';

const rate = { count: 100, seconds: 60 };
const simulatedMs = 400_000;

interface Process {
  readonly limiter: SharedLimiter;
  /** The announcements that the others read. */
  claims: readonly Claim[];
  nextExchange: number;
}

/** Runs processes with a caller that moves between them, or uses all of them, and returns when its calls were admitted. */
function simulate(seed: number, processes: number, everyMs: number): { admitted: number[]; calls: number } {
  const random = createRandom(seed);
  let now = 1000;
  const all: Process[] = Array.from({ length: processes }, () => ({
    limiter: new SharedLimiter(() => now),
    claims: [],
    nextExchange: 0,
  }));
  const admitted: number[] = [];
  let [place, calls] = [processes, 0];
  for (const end = now + simulatedMs; now < end; now += everyMs) {
    for (const one of all.filter(({ nextExchange }) => now >= nextExchange)) {
      one.claims = one.limiter.exchange(all.filter((other) => other !== one).map(({ claims }) => claims));
      one.nextExchange = now + 500 + random.below(1500);
    }
    if (random.below(10_000 / everyMs) === 0) place = random.below(processes + 1);
    const one = all[place === processes ? random.below(processes) : place];
    calls += 1;
    if (one?.limiter.count('caller', rate).allowed) admitted.push(now);
  }
  return { admitted, calls };
}

/** Runs processes that a caller uses in turn, until it has used half of a limit of 300 calls a minute. They exchange nothing during the outage. */
function refusedInTurn(seed: number, processes: number, outageMs: number): number {
  const random = createRandom(seed);
  let now = 1000;
  const all: Process[] = Array.from({ length: processes }, () => ({
    limiter: new SharedLimiter(() => now),
    claims: [],
    nextExchange: now + random.below(1000),
  }));
  const outage = now + random.below(30_000);
  let refused = 0;
  for (let call = 0; call < 300; call++, now += 100) {
    for (const one of all.filter(({ nextExchange }) => now >= nextExchange)) {
      one.nextExchange = now + 1000;
      if (now >= outage && now < outage + outageMs) continue;
      one.claims = one.limiter.exchange(all.filter((other) => other !== one).map(({ claims }) => claims));
    }
    if (now >= 2000 && !all[call % processes]?.limiter.count('caller', { count: 300, seconds: 60 }).allowed)
      refused += 1;
  }
  return refused;
}

/** The most calls in a window, relative to those that the rate admits. */
function fullest(times: readonly number[], windowMs: number): number {
  const most = rate.count + (rate.count * windowMs) / (rate.seconds * 1000);
  let [from, found] = [0, 0];
  for (const [to, time] of times.entries()) {
    while (time - (times[from] ?? 0) > windowMs) from += 1;
    found = Math.max(found, to - from + 1);
  }
  return found / most;
}

for (const processes of [1, 2, 3, 5, 10]) {
  test(`${processes} processes admit the limit of a caller that exceeds it, and no more`, () => {
    let total = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const { admitted } = simulate(seed, processes, 20);
      total += admitted.length;
      for (const windowMs of [10_000, 60_000, 240_000])
        assert.ok(fullest(admitted, windowMs) <= 1.1, `seed ${seed}: ${fullest(admitted, windowMs)} in ${windowMs} ms`);
    }
    const possible = 20 * (rate.count + (rate.count * simulatedMs) / (rate.seconds * 1000));
    assert.ok(total >= 0.95 * possible, `${total} of ${possible} calls`);
  });

  // With more, each process keeps too few calls for a caller that is new to it.
  if (processes > 5) continue;

  test(`${processes} processes refuse no call of a caller that uses them in turn up to half of the limit`, () => {
    const outageMs = processes > 3 ? 0 : 6000;
    for (let seed = 1; seed <= 100; seed++) assert.equal(refusedInTurn(seed, processes, outageMs), 0, `seed ${seed}`);
  });

  test(`${processes} processes refuse hardly a call of a caller that moves and uses two fifths of the limit`, () => {
    let [total, asked] = [0, 0];
    for (let seed = 1; seed <= 20; seed++) {
      const { admitted, calls } = simulate(seed, processes, 1500);
      total += admitted.length;
      asked += calls;
    }
    assert.ok(total >= 0.98 * asked, `${total} of ${asked} calls`);
  });
}
