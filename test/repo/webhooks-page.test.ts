// The receiver of docs/webhooks.md, as it stands there, against a server that runs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { install } from '../harness/cli.js';
import { blockNoted } from '../harness/readme.js';

const page = 'docs/webhooks.md';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('the receiver takes what is signed, and nothing else', async () => {
  const place = await install();
  after(() => place.dispose());
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const add = [
    'webhook',
    'add',
    '--project',
    'shop',
    '--name',
    'Orders',
    '--url',
    url,
    '--events',
    '*',
    '--id',
    'orders',
  ];
  const { secret } = await place.json<{ secret: string }>(add);
  writeFileSync(join(place.dir, 'receiver.mjs'), blockNoted(page, 'saved as receiver.mjs').text);
  const receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: place.dir,
    env: { PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => receiver.kill());
  let said = '';
  receiver.stdout.on('data', (text) => {
    said += text;
  });
  const post = (body: string, headers: Record<string, string> = {}) => fetch(url, { method: 'POST', body, headers });
  for (let tries = 0; tries < 100; tries++) {
    if (
      await post('{}').then(
        () => true,
        () => false,
      )
    )
      break;
    await sleep(50);
  }
  assert.equal((await post('{}')).status, 401);
  const forged = {
    'webhook-id': 'a',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': 'v1,AAAA',
  };
  assert.equal((await post('{}', forged)).status, 401);

  const deliver = ['webhook', 'test', 'orders', '--project', 'shop', '--event', 'documentUpdated'];
  assert.equal((await place.svc(deliver)).code, 0);
  assert.match(said, /^documentUpdated [0-9a-f]{20}\n$/);
  await place.json(['webhook', 'rotate-secret', 'orders', '--project', 'shop']);
  assert.equal((await place.svc(deliver)).code, 0, 'the old secret signs too');
  await place.json(['webhook', 'rotate-secret', 'orders', '--project', 'shop', '--overlap', '0s']);
  const refused = await place.svc([...deliver, '--json']);
  assert.equal(refused.code, 1);
  const { delivery } = JSON.parse(refused.out);
  assert.deepEqual([delivery.statusCode, delivery.ok, delivery.error], [401, false, 'answered 401']);
});
