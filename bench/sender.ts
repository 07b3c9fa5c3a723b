// The yardstick of deliveries: undici posts the same body again and again, and nothing else is done.
// Takes {url, body, count, atOnce} over the IPC channel and answers {seconds, cpuSeconds, sent}.
import { Agent, request } from 'undici';
import { cpuSeconds } from './process-tree.js';

/** What to send: so often, and so many at once. */
export interface SendPlan {
  readonly url: string;
  readonly body: string;
  readonly count: number;
  readonly atOnce: number;
}

/** How many were sent in how much time, and the CPU seconds they took. */
export interface SendResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly sent: number;
}

process.on('message', async ({ url, body, count, atOnce }: SendPlan) => {
  const dispatcher = new Agent({ connections: atOnce, pipelining: 1 });
  const headers = { 'content-type': 'application/json' };
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const response = await request(url, { method: 'POST', headers, body, dispatcher });
      if (response.statusCode !== 204) throw new Error(`answered ${response.statusCode}`);
      await response.body.dump();
    }
  };
  const cpuBefore = cpuSeconds([process.pid]);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, lane));
  const seconds = (performance.now() - startedAt) / 1000;
  const result: SendResult = { seconds, cpuSeconds: cpuSeconds([process.pid]) - cpuBefore, sent: begun };
  await dispatcher.close();
  process.send?.(result);
});
process.once('disconnect', () => process.exit(0));
