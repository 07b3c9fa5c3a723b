// How much memory a process plans with: the smallest of the machine, the cgroup and the heap of Node.js.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseBudgets } from '#src/platform/admission/response-budget.js';
import { Lru } from '#src/platform/cache/lru.js';
import { systemClock } from '#src/platform/runtime/clock.js';
import { memoryLimit, shareOf } from '#src/platform/runtime/memory.js';

const mebibyte = 1024 * 1024;

test('the smallest limit counts', () => {
  const cases: readonly (readonly [machine: number, cgroup: number, heap: number, expected: string])[] = [
    [8192, 0, 4096, '8192 machine'],
    [8192, 300, 150, '300 cgroup'],
    [8192, 300, 128, '256 heap'],
    [8192, 9_000_000_000, 4200, '8192 machine'],
    [512, 0, 2048, '512 machine'],
  ];
  for (const [machine, cgroup, heap, expected] of cases) {
    const { bytes, source } = memoryLimit(machine * mebibyte, cgroup * mebibyte, heap * mebibyte);
    assert.equal(`${bytes / mebibyte} ${source}`, expected);
  }
});

test('caches and budgets shrink with the memory, but not to nothing', () => {
  assert.deepEqual(
    [64, 512, 1024, 8192].map((size) => shareOf(size * mebibyte)),
    [0.1, 0.5, 1, 1],
  );
  const cache = new Lru<string>({ bytes: 10_000, entries: 100, largest: 5000 }, undefined, 0.1);
  cache.set('large', 'value', 4000);
  cache.set('small', 'value', 100);
  assert.deepEqual([cache.get('large'), cache.get('small')], [undefined, 'value']);
});

test('with little memory, a second response of the largest size waits for the first', async () => {
  const bytes = 16 * mebibyte;
  const together = async (share: number): Promise<number> => {
    const budgets = new ResponseBudgets(systemClock, bytes, undefined, share);
    let reading = 0;
    let most = 0;
    const one = async (account: string) => {
      const budget = budgets.open({ account });
      await budget.read(async (offered) => {
        offered.require(bytes);
        offered.count(bytes);
        reading += 1;
        most = Math.max(most, reading);
        await new Promise((resolve) => setTimeout(resolve, 20));
        reading -= 1;
      });
      budget.close();
    };
    await Promise.all([one('a'), one('b')]);
    return most;
  };
  assert.deepEqual([await together(1), await together(0.3)], [2, 1]);
});
