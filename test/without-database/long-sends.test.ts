// Who reads a large response slowly, and who does not, where the system takes responses in bursts.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { answerLimits } from '#src/contract/limits.js';
import { LongSends } from '#src/platform/admission/long-sends.js';
import { createTestClock } from '../harness/clock.js';

/** What the system takes at once of a connection whose buffer was full. */
const burst = 1_400_000;
const size = 32_000_000;

/** Readers of a response each, by how many bytes a second they read. */
function startReaders({ mock }: TestContext, paces: readonly number[]) {
  mock.timers.enable({ apis: ['setInterval'] });
  const clock = createTestClock();
  const others = { lack: 0 };
  const sends = new LongSends(clock, answerLimits, () => others.lack);
  const cut: number[] = [];
  const began = clock.monotonic();
  const readers = paces.map((pace) => {
    const read = () => ((clock.monotonic() - began) / 1000) * pace;
    // It fills its buffer, and then goes on a burst at a time.
    const taken = () => Math.min(size, 4_000_000 + Math.floor(read() / burst) * burst);
    const end = sends.add({ taken, cut: () => cutOff() }, size);
    const cutOff = () => {
      cut.push(pace);
      end();
    };
    return { taken, end };
  });
  return {
    cut,
    others,
    /** Lets seconds pass. */
    wait: (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1000);
        mock.timers.tick(1000);
        for (const { taken, end } of readers) if (taken() === size) end();
      }
    },
  };
}

test('a steady reader goes on, and a stalled one is cut off', (t) => {
  const readers = startReaders(t, [0, 10_000, 150_000, 300_000, 1_000_000]);
  readers.others.lack = 10 * size;
  readers.wait(9);
  assert.deepEqual(readers.cut, [], 'of the first seconds nothing is known yet');
  readers.wait(60);
  assert.deepEqual(readers.cut, [0, 10_000]);
});

test('no more are cut off than others lack bytes, the slowest first', (t) => {
  const readers = startReaders(t, [10_000, 0, 300_000]);
  readers.wait(144);
  assert.deepEqual(readers.cut, []);
  readers.others.lack = 1;
  readers.wait(1);
  assert.equal(readers.cut.length, 1);
  readers.others.lack = size;
  readers.wait(1);
  assert.deepEqual(readers.cut.toSorted(), [0, 10_000]);
});

test('after two minutes a reader gives way at any pace', (t) => {
  const readers = startReaders(t, [150_000]);
  readers.others.lack = 1;
  readers.wait(119);
  assert.deepEqual(readers.cut, []);
  readers.wait(1);
  assert.deepEqual(readers.cut, [150_000]);
});
