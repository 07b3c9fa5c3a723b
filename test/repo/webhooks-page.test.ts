// The receiver of docs/webhooks.md and the commands that try it out, as they stand there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const page = 'docs/webhooks.md';

test('the receiver accepts signed deliveries only', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const setting = 'SVC_WEBHOOK_ALLOW_INSECURE=true';
  const { text } = blockNoted(page, 'runs until stopped');
  assert.ok(readFileSync(join(root, page), 'utf8').includes(`put \`${setting}\` into \`svc.env\``));
  assert.match((await place.shell(text)).err, /only https is allowed/);
  appendFileSync(join(place.dir, 'svc.env'), `${setting}\n`);

  const port = await freePort();
  const url = `http://localhost:${port}/`;
  writeFileSync(join(place.dir, 'receiver.mjs'), blockNoted(page, 'saved as receiver.mjs').text);
  // It leads a group of its own, so that the receiver ends with its shell.
  const receiver = spawn('bash', ['-c', text.replaceAll('9000', String(port))], {
    ...{ cwd: place.dir, env: place.env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  after(() => receiver.pid !== undefined && process.kill(-receiver.pid));
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

  const deliver = ['webhook', 'test', 'local', '--project', 'shop', '--event', 'documentUpdated'];
  assert.equal((await place.svc(deliver)).code, 0);
  assert.match(said, /^documentUpdated [0-9a-f]{20}\n$/);
  await place.json(['webhook', 'rotate-secret', 'local', '--project', 'shop']);
  assert.equal((await place.svc(deliver)).code, 0, 'the old secret signs too');
  await place.json(['webhook', 'rotate-secret', 'local', '--project', 'shop', '--overlap', '0s']);
  const refused = await place.svc([...deliver, '--json']);
  assert.equal(refused.code, 1);
  const { delivery } = JSON.parse(refused.out);
  assert.deepEqual([delivery.statusCode, delivery.ok, delivery.error], [401, false, 'answered 401']);
});

test('every command of the page exists with its flags and works as described', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const added = readBlocks(page).filter(({ language, note }) => language === 'sh' && note === '');
  assert.equal(added.length, 1);
  assert.match((await place.shell(added[0]?.text ?? '')).out, /^secret +whsec_/m);
  const inline = [...readFileSync(join(root, page), 'utf8').matchAll(/`(svc webhook [^`]+)`/g)].map(
    ([, line = '']) => line,
  );
  assert.ok(inline.length >= 6, String(inline.length));
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  writeFileSync(join(place.dir, 'whsec.txt'), secret);
  writeFileSync(join(place.dir, 'body.json'), '{}');
  const signature = createHmac('sha256', secret).update('{}').digest('hex');
  for (const line of inline.filter((one) => !one.includes(' test '))) {
    const ending = line.includes(' listen ') ? ' --for 1s' : '';
    const { code, err } = await place.shell(line.replace('HEX', signature) + ending);
    assert.equal(code, 0, `${line}: ${err}`);
  }
});
