// docs/backup.md: what must not go out again after a restore.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { linesBelow } from '../harness/markdown.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';

const succeed = async (place: Installation, line: string) => {
  const { code, out, err } = await place.shell(line);
  assert.equal(code, 0, `${line}: ${err}`);
  return out;
};
const json = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
async function shop(): Promise<Installation> {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  return place;
}

test('messages waiting at a restore go out at the start, unless dropped as the page says', async () => {
  const place = await shop();
  const receiver = await startReceiver();
  appendFileSync(join(place.dir, 'svc.env'), 'SVC_WEBHOOK_ALLOW_INSECURE=true\n');
  const mails = { SVC_SMTP_URL: `smtp://127.0.0.1:${await freePort()}`, SVC_MAIL_FROM: 'shop@example.com' };
  const add = ['webhook', 'add', '--project', 'shop', '--name', 'S', '--url', receiver.origin, '--events', '*'];
  await place.json([...add, '--id', 'shipping']);
  receiver.answer = (response) => response.writeHead(500).end();
  const log = async (name: string) => {
    const server = await place.serve([], mails);
    const body = JSON.stringify({ userId: name, email: `${name}@example.com`, password: 'tall-bicycle' });
    const post = (path: string) => fetch(server.url + path, { method: 'POST', headers: json, body });
    assert.equal((await post('/account')).status, 201);
    const before = receiver.calls.length;
    assert.equal((await post('/account/sessions/email')).status, 201);
    assert.equal((await post('/account/tokens/email')).status, 201);
    for (let tries = 0; receiver.calls.length === before && tries < 200; tries++) await sleep(20);
    server.signal('SIGTERM');
    await server.ended;
  };
  const waiting = async () => {
    const [row] = await place.sql(`select
      (select count(*) from deliveries where due_at is not null) as deliveries,
      (select count(*) from messages where due_at is not null) as messages`);
    return [Number(row?.deliveries), Number(row?.messages)];
  };
  await log('ada');
  assert.deepEqual(await waiting(), [1, 1]);
  // A restored database is one whose server stopped in the middle: what is due goes out with the next start.
  await place.sql(`update deliveries set due_at = '2020-01-01T00:00:00.000Z' where due_at is not null`);
  const calls = receiver.calls.length;
  const again = await place.serve([], mails);
  for (let tries = 0; receiver.calls.length === calls && tries < 200; tries++) await sleep(20);
  again.signal('SIGTERM');
  await again.ended;
  assert.equal(receiver.calls.length, calls + 1);

  const [list = '', disable = '', statement = '', ...others] = linesBelow(
    'docs/backup.md',
    '### What must not go out again',
  );
  assert.deepEqual(others, []);
  assert.match(await succeed(place, list), /shipping/);
  await succeed(place, disable);
  await place.sql(statement);
  assert.deepEqual(await waiting(), [0, 0]);
  const server = await place.serve([], mails);
  await succeed(place, disable.replace(/off$/, 'on'));
  await sleep(1500);
  server.signal('SIGTERM');
  await server.ended;
  assert.equal(receiver.calls.length, calls + 1);
  assert.deepEqual(await waiting(), [0, 0]);
});
