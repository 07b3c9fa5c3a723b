// Two servers on one database: each message goes once, and what a lost server was sending goes out after the lease.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { courierLimits, secretLife } from '#src/contract/limits.js';
import { startMailServer } from '../harness/mail-server.js';
import { eventually } from '../webhooks/setup.js';
import { arrived, messageOf, messagesOf, sample, send, standing, startSending, sweep } from './setup.js';

const mailServer = await startMailServer();
const first = await startSending(mailServer);
const second = await first.startSibling();
const workers = [first, second].map(({ appliance }) => appliance.features.courier.worker);

test('two servers share the work, and each message goes once', async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  const ids: string[] = [];
  for (let count = 0; count < 40; count++) ids.push(await send(count % 2 === 0 ? first : second));
  mailServer.onMail = () => sleep(5).then(() => undefined);
  for (const worker of workers) worker.start();
  const nudging = setInterval(() => {
    for (const worker of workers) worker.nudge();
  }, 1);
  await arrived(mailServer, ids.length);
  clearInterval(nudging);
  mailServer.onMail = () => undefined;
  const seen = mailServer.mails.map(({ mail }) => mail.messageId?.slice(1, -'@shop.example>'.length));
  assert.deepEqual(seen.sort(), ids.sort());
  await eventually(async () => {
    for (const { state, attempt, owner } of await messagesOf(first))
      assert.deepEqual([state, Number(attempt), owner], ['sent', 1, null]);
  });
  const counted = await Promise.all(
    [first, second].map(async ({ appliance }) => {
      const text = await appliance.runtime.metrics.render();
      return Number(/^svc_messages_total\{channel="email",outcome="sent"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    }),
  );
  assert.equal(
    counted.reduce((a, b) => a + b),
    ids.length,
  );
  assert.ok(
    counted.every((count) => count > 0),
    `both had a share: ${counted}`,
  );
});

test('when one is lost the other sends as soon as the lease is over, and the late result counts for nothing', async () => {
  await workers[0]?.stop();
  const count = mailServer.mails.length;
  const held: ((refusal?: { status: number; words: string }) => void)[] = [];
  mailServer.onMail = () => new Promise((resolve) => held.push(resolve));
  const id = await send(second);
  await eventually(() => assert.equal(held.length, 1));
  mailServer.onMail = () => undefined;
  const claimed = await messageOf(first, id);
  assert.equal(claimed.state, 'sending');

  first.clock.advance(courierLimits.leaseMs - 5000);
  await sweep(first);
  assert.equal(mailServer.mails.length, count, 'nobody takes it while the lease lasts');
  first.clock.advance(5000);
  await sweep(first);
  await arrived(mailServer, count + 1);
  const row = await messageOf(first, id);
  assert.deepEqual([row.state, Number(row.attempt), Number(row.fence)], ['sent', 2, 2]);

  held[0]?.({ status: 550, words: '5.1.1 unknown' });
  await workers[1]?.stop();
  assert.deepEqual(await messageOf(first, id), row);
  for (const worker of workers) worker.start();
});

test('an expired message stays expired even if a process still holds it', async () => {
  const held: (() => void)[] = [];
  mailServer.onMail = () => new Promise((resolve) => held.push(() => resolve({ status: 451, words: 'later' })));
  await workers[0]?.stop();
  const id = await send(second, { message: 'email-code', variables: { code: '577215', phrase: '' } as never });
  await eventually(() => assert.equal(held.length, 1));
  first.clock.advance(secretLife.code * 1000);
  await sweep(first);
  const row = await messageOf(first, id);
  assert.deepEqual([row.state, row.sealed, row.due_at], ['expired', '', null]);
  held[0]?.();
  mailServer.onMail = () => undefined;
  await workers[1]?.stop();
  assert.deepEqual(await messageOf(first, id), row);
  for (const worker of workers) worker.start();
});

test('messages left while no server ran go out when one starts', async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  const count = mailServer.mails.length;
  const id = await send(first);
  await sleep(200);
  assert.equal(mailServer.mails.length, count);
  workers[1]?.start();
  await standing(first, id, 'sent');
  workers[0]?.start();
});

test('a server that ends completes the message that it is sending', async () => {
  mailServer.onMail = () => sleep(300).then(() => undefined);
  const count = mailServer.mails.length;
  const attempts = mailServer.attempts;
  const id = await send(first);
  await eventually(() => assert.equal(mailServer.attempts, attempts + 1));
  await workers[0]?.stop();
  assert.equal((await messageOf(first, id)).state, 'sent');
  assert.equal(mailServer.mails.length, count + 1);
  workers[0]?.start();
  mailServer.onMail = () => undefined;
});

test('an outage and its end have one line each over both servers', async () => {
  const turns = () =>
    [first, second].flatMap(({ log }) =>
      [...log().matchAll(/"event":"(courier\.(?:delayed|sending))"/g)].map(([, event]) => event),
    );
  assert.deepEqual(turns(), []);
  const retried = 'svc_messages_total{channel="email",outcome="retrying"}';
  const triedBy = () => Promise.all([first, second].map((target) => sample(target, retried)));
  const before = await triedBy();
  mailServer.onMail = () => sleep(5).then(() => ({ status: 451, words: 'later' }));
  const ids: string[] = [];
  for (let count = 0; count < 12; count++) ids.push(await send(count % 2 === 0 ? first : second));
  await eventually(async () => {
    const rows = (await messagesOf(first)).filter(({ id }) => ids.includes(String(id)));
    assert.ok(rows.every(({ state }) => state === 'retrying'));
  });
  for (const [at, count] of (await triedBy()).entries()) assert.ok(count > (before[at] ?? 0), 'both have tried');
  assert.deepEqual(turns(), ['courier.delayed']);
  mailServer.onMail = () => undefined;
  const sent = mailServer.mails.length;
  first.clock.advance(40_000);
  for (const worker of workers) worker.nudge();
  await arrived(mailServer, sent + ids.length);
  await eventually(() => assert.deepEqual(turns().sort(), ['courier.delayed', 'courier.sending']));
});
