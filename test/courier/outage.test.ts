// The database takes no writes while a message is being sent: what the mail server has accepted is recorded later, and not sent once more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lock } from '../db/moods.js';
import { startMailServer } from '../harness/mail-server.js';
import { eventually } from '../webhooks/setup.js';
import { messageOf, send, standing, startSending } from './setup.js';

test('a mail that was accepted while the database was locked goes once', { timeout: 60_000 }, async () => {
  const mailServer = await startMailServer();
  const target = await startSending(mailServer);
  const held: (() => void)[] = [];
  mailServer.onMail = () => new Promise((resolve) => held.push(() => resolve(undefined)));
  const id = await send(target);
  await eventually(() => assert.equal(held.length, 1));
  const locked = await lock(target.databaseUrl, 'messages');
  held[0]?.();
  const told = () => target.log().includes('"courier.message.failed"');
  while (!told()) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal((await messageOf(target, id)).state, 'sending');
  await locked.release();
  const row = await standing(target, id, 'sent');
  assert.deepEqual([Number(row.attempt), mailServer.mails.length], [1, 1]);
});

test('a server that shuts down waits only seconds for the database', {
  timeout: 60_000,
}, async () => {
  const mailServer = await startMailServer();
  const target = await startSending(mailServer);
  const { courier } = target.appliance.features;
  const held: (() => void)[] = [];
  mailServer.onMail = () => new Promise((resolve) => held.push(() => resolve(undefined)));
  const id = await send(target);
  await eventually(() => assert.equal(held.length, 1));
  const locked = await lock(target.databaseUrl, 'messages');
  const stopped = courier.worker.stop();
  held[0]?.();
  await stopped;
  assert.equal((await messageOf(target, id)).state, 'sending');
  await locked.release();
});
