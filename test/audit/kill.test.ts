// The server is killed while it records and seals: afterwards every entry has its number, once, and the chain verifies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

test('a sealer that is killed at any moment leaves no gap and nothing twice', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const env = { SVC_RATE_LIMIT: 'off' };
  for (let round = 0; round < 3; round++) {
    const server = await place.serve([], env);
    const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
    let isKilled = false;
    const load = async () => {
      while (!isKilled)
        await fetch(`${server.url}/account/sessions/anonymous`, { method: 'POST', headers, body: '{}' }).catch(
          () => {},
        );
    };
    const loads = [load(), load(), load()];
    await sleep(1500 + round * 370);
    server.signal('SIGKILL');
    isKilled = true;
    await Promise.all([server.ended, ...loads]);
  }
  const verified = await place.json<{ ok: boolean; entries: number; seq: number; unsealed: number }>([
    'audit',
    'verify',
  ]);
  const [row] = await place.sql(
    'select count(*) as n, count(distinct seq) as numbers, max(seq) as last from audit_entries',
  );
  const count = Number(row?.n);
  assert.ok(count > 10, String(count));
  assert.deepEqual(
    [verified.ok, verified.entries, verified.seq, verified.unsealed, Number(row?.numbers), Number(row?.last)],
    [true, count, count, 0, count, count],
  );
});
