// The ceiling of a login: password checks with the product's parameters and nothing around them.
// Takes {warmupSeconds, seconds} over the IPC channel and answers {seconds, cpuSeconds, hashes}.
import { availableParallelism } from 'node:os';
import Scrypt from 'scrypt-kdf';
import { cpuSeconds } from './process-tree.js';

/** One round of hashing. */
export interface HashPlan {
  readonly warmupSeconds: number;
  readonly seconds: number;
}

/** How many hashes were done in how much time, and the CPU seconds they took. */
export interface HashResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly hashes: number;
}

const password = 'correct horse battery';
const parallel = Math.max(1, availableParallelism() - 1);

async function hashUntil(key: Uint8Array, end: number): Promise<number> {
  let done = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      if (!(await Scrypt.verify(key, password))) throw new Error('a right password was refused');
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  return done;
}

process.on('message', async (plan: HashPlan) => {
  const key = await Scrypt.kdf(password, { logN: 15, r: 8, p: 3 });
  await hashUntil(key, performance.now() + plan.warmupSeconds * 1000);
  const cpuBefore = cpuSeconds([process.pid]);
  const startedAt = performance.now();
  const hashes = await hashUntil(key, startedAt + plan.seconds * 1000);
  const seconds = (performance.now() - startedAt) / 1000;
  const result: HashResult = { seconds, cpuSeconds: cpuSeconds([process.pid]) - cpuBefore, hashes };
  process.send?.(result);
});
process.once('disconnect', () => process.exit(0));
