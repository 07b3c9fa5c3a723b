// Mails by command: the mailbox of an installation without a mail server, the texts, and test messages that really go.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install, type Server } from '../harness/cli.js';
import { startMailServer } from '../harness/mail-server.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
const mailServer = await startMailServer();
const smtp = { SVC_SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`, SVC_MAIL_FROM: 'Shop <no-reply@shop.example>' };
let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['project', 'create', 'Other', '--id', 'other']);
});
after(() => place.dispose());

const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
const call = async (server: Server, method: string, path: string, body: Json, more: Record<string, string> = {}) => {
  const init = { method, headers: { ...headers, ...more }, body: JSON.stringify(body) };
  const answer = await fetch(server.url + path, init);
  assert.ok(answer.ok, await answer.clone().text());
  return (await answer.json()) as Json;
};

/** Somebody signs up at a server and changes the password, which is told by mail. */
async function changePassword(server: Server, name: string): Promise<void> {
  const email = `${name}@example.com`;
  await call(server, 'POST', '/account', { userId: name, email, password: 'correct horse', name });
  const { secret } = await call(server, 'POST', '/account/sessions/email', { email, password: 'correct horse' });
  const body = { password: 'battery staple', oldPassword: 'correct horse' };
  await call(server, 'PATCH', '/account/password', body, { 'X-Service-Session': String(secret) });
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 300; tries++) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(50);
  }
  throw new Error('it did not come to pass');
}

test('without a mail server, mails are kept in a directory that the operator can read', async () => {
  assert.deepEqual(await place.json(['mail', 'list']), { mails: [] });
  const none = await place.svc(['mail', 'show', '--last', '--json']);
  assert.deepEqual([none.code, JSON.parse(none.err).error.type], [3, 'mail_not_found']);
  const server = await place.serve();
  await changePassword(server, 'ada');
  const { mails } = await place.json<{ mails: Json[] }>(['mail', 'list', '--project', 'shop']);
  const [mail] = mails;
  assert.deepEqual(
    [mails.length, mail?.to, mail?.subject, mail?.state, mail?.message, mail?.userId, mail?.sentAt],
    [1, 'ada@example.com', 'Your password was changed', 'kept', 'password-changed', 'ada', mail?.$createdAt],
  );
  assert.deepEqual(await place.json(['mail', 'list', '--project', 'other']), { mails: [] });
  const shown = await place.json<Json>(['mail', 'show', String(mail?.$id)]);
  assert.match(String(shown.text), /^Hello ada,\n\nThe password of your account at Shop was changed/);
  assert.match(String(shown.html), /^<!doctype html>/);
  assert.deepEqual([shown.links, shown.code], [[], null]);
  assert.deepEqual(await place.json(['mail', 'show', '--last']), shown);
  const plain = await place.svc(['mail', 'show', '--last', '--project', 'shop']);
  assert.match(plain.out, /^id +\w+\nto +ada@example\.com\nsubject +Your password was changed\nstate +kept\n/);
  assert.equal((await place.svc(['mail', 'show', '--last', '--project', 'other'])).code, 3);
  assert.equal((await place.svc(['mail', 'show', String(mail?.$id), '--project', 'other'])).code, 3);
  server.signal('SIGTERM');
  await server.ended;
});

test('the link of an unsent mail works when the operator passes it on', async () => {
  const server = await place.serve();
  const email = 'eve@example.com';
  await call(server, 'POST', '/account', { userId: 'eve', email, password: 'correct horse', name: 'Eve' });
  const asked = await call(server, 'POST', '/account/recovery', { email, url: 'http://localhost/recover' });
  const shown = await place.json<{ to: string; links: string[] }>(['mail', 'show', '--last']);
  assert.deepEqual([shown.to, shown.links.length], [email, 1]);
  const { userId, secret } = Object.fromEntries(new URL(shown.links[0] ?? '').searchParams);
  assert.deepEqual([asked.userId, asked.secret], [userId, secret]);
  await call(server, 'PUT', '/account/recovery', { userId, secret, password: 'battery staple' });
  await call(server, 'POST', '/account/sessions/email', { email, password: 'battery staple' });

  const token = await call(server, 'POST', '/account/tokens/email', { userId: 'unique()', email });
  const { code } = await place.json<{ code: string }>(['mail', 'show', '--last']);
  const session = await call(server, 'POST', '/account/sessions/token', { userId: token.userId, secret: code });
  assert.equal(session.userId, 'eve');
  server.signal('SIGTERM');
  await server.ended;
});

test('a mail that a killed server was sending goes out by the next one', async () => {
  const held: (() => void)[] = [];
  mailServer.onMail = () => new Promise((resolve) => held.push(() => resolve(undefined)));
  const first = await place.serve([], smtp);
  await changePassword(first, 'bob');
  await until(async () => (held.length === 1 ? true : undefined));
  const before = await place.sql("select id, state from messages where state = 'sending'");
  assert.equal(before.length, 1);
  first.signal('SIGKILL');
  await first.ended;
  mailServer.onMail = () => undefined;
  // The minute of the leases is over, that of the message and that of the job.
  await place.sql(`update messages set lease_until = '2020-01-01T00:00:00.000Z' where state = 'sending'`);
  await place.sql(`update cron_jobs set lease_until = '2020-01-01T00:00:00.000Z' where lease_until is not null`);
  const second = await place.serve([], smtp);
  const { mail } = await until(async () => mailServer.mails[0]);
  assert.equal(mail.messageId, `<${before[0]?.id}@shop.example>`);
  const sent = await until(async () => {
    const found = await place.json<Json>(['mail', 'show', String(before[0]?.id)]);
    return found.state === 'sent' ? found : undefined;
  });
  assert.deepEqual([sent.to, sent.subject, sent.text, sent.links], ['bob@example.com', '', '', []]);
  assert.equal(sent.attempts, 2);
  assert.match((await place.svc(['mail', 'show', '--last'])).out, /The text is no longer stored\.\n$/);
  second.signal('SIGTERM');
  await second.ended;
  assert.equal(mailServer.mails.length, 1);
});

test('cron run also sends the messages that a command queued', async () => {
  const from = mailServer.mails.length;
  await place.sql(
    `update messages set state = 'pending', due_at = created_at where state = 'kept' and user_id = 'ada'`,
  );
  const run = await place.svc(['cron', 'run', 'courier.send'], { env: smtp });
  assert.equal(run.code, 0, run.err);
  assert.deepEqual(
    mailServer.mails.slice(from).map(({ envelope }) => envelope.to),
    [['ada@example.com']],
  );
});

test('a test mail really goes out, and failures quote the server', async () => {
  const send = (env: Record<string, string>, ...more: string[]) =>
    place.svc(['mail', 'test', '--to', 'ops@example.com', '--json', ...more], { env });
  const from = mailServer.mails.length;
  const sent = await send(smtp, '--locale', 'de');
  assert.equal(sent.code, 0, sent.err);
  assert.deepEqual([JSON.parse(sent.out).ok, JSON.parse(sent.out).to], [true, 'ops@example.com']);
  assert.equal(mailServer.mails[from]?.mail.subject, 'Testmail von localhost');
  mailServer.onRecipient = () => ({ status: 550, words: '5.7.1 relaying denied for <ops@example.com>' });
  const refused = await send(smtp);
  mailServer.onRecipient = () => undefined;
  const { type, message, fix } = JSON.parse(refused.err).error;
  assert.match(fix, /rules of the mail server .* is not tried again/);
  mailServer.onRecipient = () => ({ status: 450, words: '4.2.1 busy' });
  assert.match(JSON.parse((await send(smtp)).err).error.fix, /^wait, /);
  mailServer.onRecipient = () => undefined;
  assert.deepEqual([refused.code, refused.out, type], [1, '', 'mail_refused']);
  assert.match(message, /relaying denied for <ops@example\.com>/);
  await mailServer.stop();
  const away = await send(smtp);
  await mailServer.start();
  assert.deepEqual([away.code, JSON.parse(away.err).error.type], [6, 'mail_unreachable']);
  assert.match(JSON.parse(away.err).error.message, /the connection was refused/);
  assert.match(JSON.parse(away.err).error.fix, /whether the mail server runs/);
  const unset = await send({});
  assert.deepEqual([unset.code, JSON.parse(unset.err).error.type], [7, 'mail_not_configured']);
});

test('a test SMS really goes out, and failures quote the gateway', async () => {
  const gateway = await startReceiver();
  const env = {
    SVC_SMS_URL: `http://shop:secret@${new URL(gateway.origin).host}/`,
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
  };
  const send = (given: Record<string, string>) =>
    place.svc(['sms', 'test', '--to', '+14155550123', '--json'], { env: given });
  assert.equal((await send(env)).code, 0);
  assert.equal(JSON.parse(String(gateway.calls[0]?.body)).to, '+14155550123');
  gateway.answer = (response) => response.writeHead(402).end('no credit left');
  const refused = await send(env);
  assert.equal(refused.code, 1);
  assert.match(JSON.parse(refused.err).error.message, /402 no credit left/);
  assert.doesNotMatch(refused.err, /secret/);
  const closed = await send({ ...env, SVC_SMS_URL: 'http://shop:secret@127.0.0.1:1024/' });
  assert.deepEqual([closed.code, JSON.parse(closed.err).error.type], [6, 'sms_unreachable']);
  assert.equal((await send({})).code, 7);
});

test('a text with a fault is named with file and line', async () => {
  const file = join(place.dir, 'data/templates/emails/de/recovery/body.txt');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'Guten Tag,\n\n{{lnik}}\n');
  for (const args of [
    ['mail', 'preview', 'recovery'],
    ['mail', 'check'],
  ]) {
    const { code, out, err } = await place.svc(args);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, new RegExp(`${file}:3: there is no variable {{lnik}} here`), err);
    assert.match(err, new RegExp(`${file}:1: {{link}} is missing`), err);
  }
  assert.equal((await place.svc(['mail', 'preview', 'magic-link'])).code, 0);
  rmSync(join(place.dir, 'data/templates'), { recursive: true });
  assert.equal((await place.svc(['mail', 'check'])).out, 'The templates are valid (de, en, es, fr, pt).\n');
  const german = await place.json<Json>(['mail', 'preview', 'email-code', '--locale', 'de-AT']);
  assert.deepEqual([german.locale, german.subject], ['de', 'Ihr Code für Shop']);
  assert.match((await place.svc(['mail', 'preview', 'email-code', '--html'])).out, /^<!doctype html>[\s\S]*123456/);
  assert.match((await place.svc(['mail', 'preview', 'phone-code'])).out, /^123456 is your code for Shop\./);
});

test('mistakes end with the code that scripts expect, and a next step', async () => {
  const table: [number, string, string[]][] = [
    [2, 'usage_invalid', ['mail', 'show']],
    [2, 'usage_invalid', ['mail', 'show', 'x', '--last']],
    [2, 'usage_invalid', ['mail', 'list', '--limit', 'many']],
    [2, 'usage_invalid', ['mail', 'test', '--to', 'nobody']],
    [2, 'usage_invalid', ['mail', 'preview', 'recovery', '--locale', '../x']],
    [2, 'usage_invalid', ['sms', 'test', '--to', '12']],
    [3, 'mail_not_found', ['mail', 'show', 'none']],
    [3, 'message_not_found', ['mail', 'preview', 'none']],
    [3, 'project_not_found', ['mail', 'list', '--project', 'none']],
  ];
  for (const [code, type, args] of table) {
    const run = await place.svc([...args, '--json']);
    const { error } = JSON.parse(run.err);
    assert.deepEqual([run.code, error.type, run.out], [code, type, ''], args.join(' '));
    assert.ok(error.message !== '' && error.fix !== '');
  }
});

const settings: [Record<string, string>, RegExp][] = [
  [{ SVC_SMTP_URL: 'smtp://mail.example.com' }, /SVC_MAIL_FROM is not set; SVC_SMTP_URL needs it/],
  [{ ...smtp, SVC_MAIL_FROM: 'nobody' }, /SVC_MAIL_FROM must be an address/],
  [{ ...smtp, SVC_MAIL_FROM: 'A <a@example.com>, b@example.com' }, /SVC_MAIL_FROM must be an address/],
  [{ ...smtp, SVC_SMTP_URL: 'http://mail.example.com' }, /SVC_SMTP_URL must be smtp:/],
  [
    { ...smtp, SVC_SMTP_URL: 'smtp://mail.example.com?ca=/none' },
    /SVC_SMTP_URL names \/none, which cannot be read: it does not exist/,
  ],
  [{ SVC_SMS_URL: 'http://sms.example.com/' }, /SVC_SMS_URL must be https/],
  [{ SVC_SMS_URL: 'twilio://AC1:hush@/?from=nobody-at-all' }, /SVC_SMS_URL must be https:.* or twilio:/],
  [
    { SVC_SMS_URL: 'twilio://AC1:hush@/?from=+15005550006&api=https://x.example' },
    /api= with SVC_WEBHOOK_ALLOW_INSECURE/,
  ],
];
test('settings that cannot work are refused by name, without their secrets', async () => {
  for (const [env, words] of settings) {
    const { code, err } = await place.svc(['config', 'check'], { env });
    assert.equal(code, 7, JSON.stringify(env));
    assert.match(err, words);
    assert.doesNotMatch(err, /hush/);
  }
  const env = { ...smtp, SVC_SMS_URL: 'twilio://AC1:hush@/?from=+15005550006' };
  assert.equal((await place.svc(['config', 'check'], { env })).code, 0);
  assert.match((await place.svc(['config', 'show'], { env })).out, /twilio:\/\/AC1:\*\*\*@\/\?from=\+15005550006/);
});
