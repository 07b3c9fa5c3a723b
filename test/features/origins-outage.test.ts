// A page can read that the database is away, although the question of its origin cannot be asked any more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';

const skip = databaseUnderTest === 'postgres' ? false : 'a file cannot go away like a server';

test('a 503 before the project is known is readable by the pages that were there before', { skip }, async () => {
  const postgres = await startPostgres();
  try {
    const target = await startAppliance({ databaseUrl: await createDatabase(postgres.url, 'origins-outage') });
    const key = await aServerKey(target);
    const platform = { platformId: 'unique()', name: '', hostname: 'app.example.com' };
    (await key.client.post('/project/platforms/web', platform)).expect(201);
    const guest = createClient(target);
    const page = { Origin: 'https://app.example.com' };
    (await guest.get('/account', page)).expect(401);
    await postgres.stopHard();
    target.clock.advance(60_000);
    const readable = [page.Origin, 'http://localhost:3000'];
    for (const origin of [...readable, 'https://evil.example', 'https://other.example.com']) {
      const started = performance.now();
      const answer = (await guest.get('/account', { Origin: origin })).refused(503, 'general_unavailable');
      const granted = readable.includes(origin) ? origin : null;
      assert.equal(answer.headers.get('Access-Control-Allow-Origin'), granted, origin);
      assert.match(answer.headers.get('Access-Control-Expose-Headers') ?? 'Retry-After', /Retry-After/);
      assert.ok(performance.now() - started < 6000);
    }
  } finally {
    await postgres.stop();
  }
});
