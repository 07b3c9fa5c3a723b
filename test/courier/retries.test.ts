// Mail servers that are away, that refuse for now or for good, and messages that are too late.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { courierLimits, messageDelays, secretLife } from '#src/contract/limits.js';
import { day, minute } from '../harness/clock.js';
import { rowsOf } from '../harness/database.js';
import { startMailServer } from '../harness/mail-server.js';
import { arrived, messageOf, messagesOf, sample, send, standing, startSending, sweep } from './setup.js';

const mailServer = await startMailServer();
const target = await startSending(mailServer);
const { courier, jobs } = target.appliance.features;
const second = 1000;
/** Long enough for a delay that came out a fifth longer. */
const pass = (seconds: number) => target.clock.advance(seconds * 1.2 * second + second);
const code = { message: 'email-code', variables: { code: '314159', phrase: '' } as never } as const;

test('a server that is away gets the mail when it is back', async () => {
  await mailServer.stop();
  const id = await send(target, { to: 'patient@example.com' });
  const row = await standing(target, id, 'retrying');
  assert.deepEqual([row.error, Number(row.attempt), row.sent_at], ['the connection was refused', 1, null]);
  const waits = (Date.parse(String(row.due_at)) - target.clock.now()) / second;
  assert.ok(waits > 0.8 * 30 - 5 && waits <= 1.2 * 30, String(waits));
  await sweep(target);
  assert.equal(Number((await messageOf(target, id)).attempt), 1, 'not before its time');
  pass(30);
  await sweep(target);
  assert.equal(Number((await messageOf(target, id)).attempt), 2);
  await mailServer.start();
  pass(120);
  await sweep(target);
  const { mail } = await arrived(mailServer, 1);
  assert.ok(mail.messageId?.includes(id));
  assert.equal((await messageOf(target, id)).state, 'sent');
});

const answers = [
  { at: 'onRecipient', status: 450, words: '4.2.1 <ada@example.com> is busy', state: 'retrying', error: '450 4.2.1' },
  { at: 'onRecipient', status: 550, words: '5.1.1 <ada@example.com> unknown', state: 'failed', error: '550 5.1.1' },
  { at: 'onRecipient', status: 530, words: '5.7.0 log in first', state: 'retrying', error: '530 5.7.0' },
  { at: 'onMail', status: 452, words: '4.3.1 full', state: 'retrying', error: '452 4.3.1' },
  { at: 'onMail', status: 554, words: 'looks like spam', state: 'failed', error: '554' },
] as const;
for (const { at, status, words, state, error } of answers) {
  test(`${status} to ${at === 'onMail' ? 'the mail' : 'its recipient'}: ${state}`, async () => {
    const count = mailServer.mails.length;
    mailServer[at] = () => ({ status, words });
    const id = await send(target, { ...code, to: 'ada@example.com' });
    const row = await standing(target, id, state);
    assert.equal(row.error, `the mail server answered ${error}`);
    assert.equal(row.sealed === '', state === 'failed', 'what will not be sent any more is wiped');
    mailServer[at] = () => undefined;
    pass(30);
    await sweep(target);
    assert.equal((await messageOf(target, id)).state, state === 'failed' ? 'failed' : 'sent');
    assert.equal(mailServer.mails.length, count + (state === 'failed' ? 0 : 1));
  });
}

test('one that is refused again and again fails after the last delay', async () => {
  mailServer.onMail = () => ({ status: 451, words: 'later' });
  const id = await send(target);
  await standing(target, id, 'retrying');
  for (const [index, seconds] of messageDelays.entries()) {
    assert.deepEqual([Number((await messageOf(target, id)).attempt)], [index + 1]);
    pass(seconds);
    await sweep(target);
  }
  const row = await messageOf(target, id);
  assert.deepEqual(
    [row.state, Number(row.attempt), row.due_at, row.sealed],
    ['failed', messageDelays.length + 1, null, ''],
  );
  mailServer.onMail = () => undefined;
});

test('a code whose life is over is given up, and no attempt is made', async () => {
  await courier.worker.stop();
  const count = mailServer.attempts;
  const late = await send(target, code);
  const link = await send(target, { message: 'recovery', variables: { link: 'https://app.example.com/r' } as never });
  target.clock.advance(secretLife.code * second);
  courier.worker.start();
  await standing(target, link, 'sent');
  const row = await messageOf(target, late);
  assert.deepEqual([row.state, row.due_at, row.sealed, Number(row.attempt)], ['expired', null, '', 0]);
  assert.equal(mailServer.attempts, count + 1);
});

test('what could be tried again only after its life is given up at once', async () => {
  mailServer.onMail = () => ({ status: 451, words: 'later' });
  const id = await send(target, code);
  for (const seconds of [30, 120]) {
    assert.equal((await standing(target, id, 'retrying')).state, 'retrying');
    pass(seconds);
    await sweep(target);
  }
  const row = await messageOf(target, id);
  assert.deepEqual([row.state, row.error, Number(row.attempt)], ['expired', 'the mail server answered 451', 3]);
  mailServer.onMail = () => undefined;
});

test('the log names messages and reasons, but no person and no secret', async () => {
  const lines = target
    .log()
    .split('\n')
    .filter((line) => line.includes('"courier.'))
    .map((line) => JSON.parse(line));
  const given = lines.filter(({ event }) => event === 'courier.given-up');
  const ended = (await messagesOf(target)).filter(({ state }) => state === 'failed' || state === 'expired');
  // What expired while nobody was at it is counted, not told one by one.
  assert.equal(given.length, ended.length - 1);
  assert.deepEqual(Object.keys(given[0] ?? {}).slice(3), [
    'message',
    'project',
    'template',
    'attempt',
    'state',
    'error',
  ]);
  assert.ok(lines.some(({ event, error }) => event === 'courier.delayed' && error === 'the connection was refused'));
  const turns = lines.map(({ event }) => event).filter((event) => /delayed|sending/.test(event));
  assert.ok(turns.includes('courier.sending'), 'the recovery has a line');
  assert.ok(
    turns.every((event, at) => event !== turns[at - 1]),
    `an outage and its end have one line each: ${turns}`,
  );
  assert.doesNotMatch(target.log(), /@example\.com|314159|app\.example\.com\/r/);
});

test('waiting messages and the outcome of the others are measured', async () => {
  const sent = () => sample(target, 'svc_messages_total{channel="email",outcome="sent"}');
  const backlog = () => sample(target, 'svc_messages_backlog{channel="email"}');
  const before = await sent();
  assert.equal(await backlog(), 0);
  mailServer.onMail = () => ({ status: 451, words: 'later' });
  const id = await send(target);
  await standing(target, id, 'retrying');
  assert.equal(await backlog(), 1);
  target.clock.advance(minute);
  const age = await sample(target, 'svc_messages_oldest_seconds{channel="email"}');
  assert.ok(age >= 60 && age < 90, String(age));
  mailServer.onMail = () => undefined;
  await sweep(target);
  assert.deepEqual([await backlog(), await sent()], [0, before + 1]);
  for (const outcome of ['retrying', 'failed', 'expired'])
    assert.ok((await sample(target, `svc_messages_total{channel="email",outcome="${outcome}"}`)) > 0, outcome);
});

test('messages are deleted after thirty days, those that wait are not', async () => {
  await courier.worker.stop();
  const waiting = await send(target);
  target.clock.advance(courierLimits.retentionDays * day + minute);
  const young = await send(target);
  assert.equal((await jobs.run('courier.prune'))?.outcome, 'ok');
  const left = (await rowsOf(target, 'messages')).map(({ id }) => id);
  assert.deepEqual(left.sort(), [waiting, young].sort());
  courier.worker.start();
});
