// Webhooks by command, beside a server that delivers.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSigned } from '../harness/certificate.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { atTerminal } from '../harness/pty.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
type Attempts = { total: number; deliveries: Json[] };
const scope = ['--project', 'shop'];
const receiver = await startReceiver();
let place: Installation;
let server: Server;
before(async () => {
  place = await install();
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  server = await place.serve();
});
after(() => place.dispose());

const add = (id: string, events: string, ...more: string[]) =>
  place.json<Json>([
    'webhook',
    'add',
    ...scope,
    '--name',
    id,
    '--url',
    receiver.origin,
    '--events',
    events,
    '--id',
    id,
    ...more,
  ]);

/** Somebody signs up and logs in at the running server: one event. */
async function logIn(name: string): Promise<void> {
  const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ userId: name, email: `${name}@example.com`, password: 'correct horse', name });
  for (const path of ['/account', '/account/sessions/email'])
    assert.equal((await fetch(server.url + path, { method: 'POST', headers, body })).status, 201);
}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await done()); tries++) {
    assert.ok(tries < 200, server.log());
    await sleep(50);
  }
}

test('an event that only the feed has is refused with the way to it', async () => {
  const given = ['webhook', 'add', ...scope, '--name', 'a', '--url', receiver.origin, '--events', 'membershipCreated'];
  const { code, err } = await place.svc(given);
  assert.equal(code, 2);
  assert.match(err, /next: the feed has it: svc events tail --project shop --type membershipCreated/);
});

test('a webhook is added, shown, changed, tested, replayed and removed', async () => {
  writeFileSync(join(place.dir, 'password'), 'hush\n');
  const made = await add(
    'orders',
    'sessionCreated,documentCreated',
    '--auth-username',
    'ada',
    '--auth-password-file',
    'password',
  );
  const { secret, signingSecret, ...rest } = made;
  assert.match(String(secret), /^whsec_/);
  assert.equal(signingSecret, secret);
  assert.deepEqual(rest.events, ['sessionCreated', 'documentCreated']);
  assert.deepEqual(await place.json(['webhook', 'show', 'orders', ...scope]), { ...rest, secret: '' });
  const { webhooks } = await place.json<{ webhooks: Json[] }>(['webhook', 'list', ...scope]);
  assert.deepEqual(
    webhooks.map(({ $id }) => $id),
    ['orders'],
  );

  await logIn('ada');
  await until(() => receiver.calls.length === 1);
  const [call] = receiver.calls;
  assert.equal(call?.headers.authorization, `Basic ${Buffer.from('ada:hush').toString('base64')}`);
  const eventId = JSON.parse(String(call?.body)).id;

  const { delivery } = await place.json<{ delivery: Json }>([
    'webhook',
    'test',
    'orders',
    ...scope,
    '--event',
    'documentCreated',
  ]);
  assert.deepEqual(
    [delivery.statusCode, delivery.ok, delivery.error, delivery.event],
    [200, true, '', 'documentCreated'],
  );
  const seen = () => place.json<Attempts>(['webhook', 'deliveries', 'orders', ...scope, '--limit', '2']);
  assert.deepEqual(
    (await seen()).deliveries.map(({ event }) => event),
    ['documentCreated', 'sessionCreated'],
  );
  assert.match(
    (await place.svc(['webhook', 'deliveries', 'orders', ...scope])).out,
    new RegExp(`sessionCreated +${eventId} +delivered +HTTP 200\\n`),
  );

  assert.deepEqual(await place.json(['webhook', 'replay', 'orders', ...scope, '--event', eventId]), { replayed: 1 });
  await until(() => receiver.calls.length === 3);
  assert.deepEqual(receiver.calls[2]?.body, call?.body);
  await until(async () => (await seen()).deliveries[0]?.eventId === eventId);
  assert.match(
    (await place.svc(['webhook', 'deliveries', 'orders', ...scope])).out,
    new RegExp(`sessionCreated +${eventId} +delivered +HTTP 200; \\+\\d+[smhd] HTTP 200\\n`),
  );
  assert.deepEqual(await place.json(['webhook', 'replay', 'orders', ...scope, '--since', '2020-01-01T00:00:00Z']), {
    replayed: 0,
  });

  receiver.answer = (response) => response.writeHead(500).end();
  const failed = await place.svc(['webhook', 'test', 'orders', ...scope]);
  assert.equal(failed.code, 1);
  assert.match(failed.out, /acknowledged +no\nstatus +500\nerror +answered 500/);
  assert.match(
    (await place.svc(['webhook', 'deliveries', 'orders', ...scope, '--limit', '1'])).out,
    /test failed +HTTP 500\n/,
  );
  // Neither the test that failed nor the one that arrived comes again; the event does.
  const replayed = (...more: string[]) => place.json(['webhook', 'replay', 'orders', ...scope, ...more]);
  assert.deepEqual(await replayed('--since', '2020-01-01T00:00:00Z'), { replayed: 0 });
  const tested = (await seen()).deliveries.map((one) => String(one.eventId));
  const refused = await place.svc(['webhook', 'replay', 'orders', ...scope, '--event', tested[0] ?? '']);
  assert.equal(refused.code, 2);
  assert.match(refused.err, /test delivery/);
  receiver.answer = (response) => response.end();
  const calls = receiver.calls.length;
  assert.deepEqual(await replayed('--since', '2h', '--all'), { replayed: 1 });
  await until(() => receiver.calls.length === calls + 1);
  assert.equal(JSON.parse(String(receiver.calls.at(-1)?.body)).id, eventId);

  const rotated = await place.json<Json>(['webhook', 'rotate-secret', 'orders', ...scope, '--overlap', '2h']);
  assert.notEqual(rotated.secret, secret);
  assert.equal(Date.parse(String(rotated.previousSecretUntil)) - Date.parse(String(rotated.$updatedAt)), 7_200_000);
  const shown = await place.svc(['webhook', 'rotate-secret', 'orders', ...scope]);
  const [, until24h = ''] = /^old one signs until +(\S+)$/m.exec(shown.out) ?? [];
  assert.ok(Math.abs(Date.parse(until24h) - Date.now() - 86_400_000) < 60_000, shown.out);
  const overlapping = await place.svc(['webhook', 'show', 'orders', ...scope]);
  assert.match(overlapping.out, new RegExp(`^old secret signs until +${until24h}$`, 'm'));
  const off = await place.json<Json>(['webhook', 'update', 'orders', ...scope, '--enabled', 'off', '--events', '*']);
  assert.deepEqual([off.enabled, off.events], [false, ['*']]);
  const before = receiver.calls.length;
  await logIn('bob');
  await place.json(['webhook', 'update', 'orders', ...scope, '--enabled', 'on']);
  await logIn('eve');
  await until(() => receiver.calls.length > before);
  await sleep(300);
  assert.ok(receiver.calls.slice(before).every(({ body }) => !body.toString().includes('"userId":"bob"')));

  // What is limited is what is printed, however many other events came later.
  await place.json(['user', 'block', 'eve', ...scope]);
  const tail = (...more: string[]) =>
    place.json<{ events: { type: string }[] }>(['events', 'tail', ...scope, '--once', '--limit', '2', ...more]);
  await until(async () => (await tail()).events.some(({ type }) => type === 'sessionDeleted'));
  assert.deepEqual(
    (await tail('--type', 'sessionCreated')).events.map(({ type }) => type),
    ['sessionCreated', 'sessionCreated'],
  );

  await place.json(['webhook', 'remove', 'orders', ...scope, '--yes']);
  assert.deepEqual((await place.json<{ total: number }>(['webhook', 'list', ...scope])).total, 0);
  const audit = await place.sql(
    "select action, actor_id from audit_entries where action like 'webhook%' order by action",
  );
  assert.deepEqual([...new Set(audit.map(({ action, actor_id }) => `${action} ${actor_id}`))].sort(), [
    'webhookCreated cli',
    'webhookDeleted cli',
    'webhookSecretRotated cli',
    'webhookUpdated cli',
  ]);
  assert.ok(!server.log().includes(String(secret).slice(6)));
});

test('at 80 columns deliveries are a table: each with its whole ids and names, and when the next attempt is', async () => {
  await add('failing', 'sessionCreated');
  receiver.answer = (response) => response.writeHead(500).end();
  await logIn('zoe');
  const list = ['webhook', 'deliveries', 'failing', ...scope];
  await until(async () => (await place.json<Attempts>(list)).total > 0);
  // Tests of an event with a long name stand beside it.
  await place.svc(['webhook', 'test', 'failing', ...scope, '--event', 'documentUpdated']);
  const { out } = await atTerminal(place, list, [], 80);
  const [heading = '', ...rows] = out.trimEnd().split(/\r?\n/);
  assert.match(heading, /^LAST +EVENT +EVENT ID +STATE +ANSWERS$/);
  assert.ok(
    rows.every((row) => row.length <= 80),
    out,
  );
  const { deliveries } = await place.json<Attempts>(list);
  for (const { event, eventId } of deliveries)
    assert.ok(
      rows.some((row) => row.includes(` ${event} `) && row.includes(` ${eventId} `)),
      out,
    );
  const [line = ''] = rows.filter((row) => row.includes('sessionCreated'));
  assert.match(`${line} ${rows[rows.indexOf(line) + 1] ?? ''}`, /(retrying|delivering) +HTTP 500/);
  // A second attempt may have been made meanwhile; the third is minutes away.
  const spans = async () => (await place.svc(list)).out;
  await until(async () => / retrying +HTTP 500;( \+\d+s HTTP 500;)* \+\d+[sm] next\n/.test(await spans()));
  receiver.answer = (response) => response.end();
  await place.json(['webhook', 'remove', 'failing', ...scope, '--yes']);
});

test('mistakes end with the code that scripts expect, and a next step', async () => {
  await add('one', '*');
  const again = ['webhook', 'add', ...scope, '--name', 'x', '--events', '*'];
  const table: [number, string, string[]][] = [
    [2, 'general_argument_invalid', [...again, '--url', 'ftp://example.com']],
    [2, 'usage_invalid', ['webhook', 'update', 'one', ...scope, '--events', 'nothing']],
    [2, 'usage_invalid', ['webhook', 'update', 'one', ...scope]],
    [2, 'usage_invalid', ['webhook', 'test', 'one', ...scope, '--event', 'nothing']],
    [2, 'usage_invalid', ['webhook', 'replay', 'one', ...scope]],
    [2, 'usage_invalid', ['webhook', 'replay', 'one', ...scope, '--since', 'yesterday']],
    [2, 'usage_invalid', ['webhook', 'replay', 'one', ...scope, '--all']],
    [2, 'usage_invalid', ['webhook', 'replay', 'one', ...scope, '--all', '--event', 'x']],
    [2, 'usage_invalid', ['webhook', 'rotate-secret', 'one', ...scope, '--overlap', 'long']],
    [2, 'usage_invalid', ['webhook', 'rotate-secret', 'one', ...scope, '--overlap', '8d']],
    [3, 'webhook_not_found', ['webhook', 'show', 'none', ...scope]],
    [3, 'webhook_not_found', ['webhook', 'replay', 'none', ...scope, '--event', 'x']],
    [3, 'webhook_delivery_not_found', ['webhook', 'replay', 'one', ...scope, '--event', 'none']],
    [3, 'project_not_found', ['webhook', 'list', '--project', 'none']],
    [3, 'file_not_found', ['webhook', 'update', 'one', ...scope, '--auth-password-file', 'none']],
    [4, 'confirmation_refused', ['webhook', 'remove', 'one', ...scope]],
    [5, 'webhook_already_exists', [...again, '--url', receiver.origin, '--id', 'one']],
  ];
  for (const [code, type, args] of table) {
    const run = await place.svc([...args, '--json']);
    assert.equal(run.code, code, `${args.join(' ')}: ${run.err}`);
    const { error } = JSON.parse(run.err);
    assert.deepEqual([error.type, run.out], [type, ''], args.join(' '));
    assert.ok(error.message !== '' && error.fix !== '');
  }
  const guarded = await place.svc([...again, '--url', 'https://127.0.0.1/', '--json'], {
    env: { SVC_WEBHOOK_ALLOW_INSECURE: 'false' },
  });
  assert.equal(guarded.code, 2);
  assert.match(JSON.parse(guarded.err).error.message, /the address is not public/);
});

test('a wrong event names the flag and the nearest one, and a length of time is said as it is given', async () => {
  const said = async (...args: string[]) => (await place.svc(['webhook', ...args, ...scope])).err;
  for (const [events, name] of [
    ['documentCreate', '--events'],
    ['fileCreated,documentCreate', 'Each of --events'],
  ] as const)
    assert.match(
      await said('update', 'one', '--events', events),
      new RegExp(
        `^error: ${name} must be one of \\*, documentCreated, .*; it is documentCreate\\.\nnext: did you mean documentCreated\\?`,
      ),
    );
  assert.match(
    await said('rotate-secret', 'one', '--overlap', '9d'),
    /^error: --overlap must be at most 7d; it is 9d\.\n/,
  );
});

test('a listener that is interrupted ends with 130', async () => {
  const child = spawn('svc', ['webhook', 'listen', '--port', '0', '--json'], { cwd: place.dir, env: place.env });
  after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'exit'), [130, null]);
});

test('a receiver in a network of the operator, with a certificate of its own CA, is reached as the page says', async () => {
  const other = await install();
  after(() => other.dispose());
  await other.json(['project', 'create', 'Shop', '--id', 'shop']);
  const { cert, key } = selfSigned(['127.0.0.1']);
  const ca = join(other.dir, 'ca.pem');
  writeFileSync(ca, cert);
  const inside = createServer({ cert, key }, (_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1');
  await once(inside, 'listening');
  after(() => inside.close());
  const { port } = inside.address() as AddressInfo;
  const adding = (host: string, env: Record<string, string>) => {
    const line = ['webhook', 'add', ...scope, '--name', 'N', '--url', `https://${host}:${port}/`, '--events', '*'];
    return other.svc([...line, '--id', 'inside', '--json'], { env });
  };
  const refused = await adding('127.0.0.1', {});
  assert.equal(refused.code, 2);
  assert.match(JSON.parse(refused.err).error.message, /the address is not public/);
  assert.match(JSON.parse(refused.err).error.fix, /SVC_EGRESS_ALLOW/);
  const allowed = { SVC_EGRESS_ALLOW: '127.0.0.0/8' };
  for (const name of ['hooks.internal', 'hooks.lan', 'hooks']) {
    const { code, err } = await adding(name, allowed);
    assert.deepEqual([code, /the host name is not public/.test(err)], [2, true], name);
    assert.match(JSON.parse(err).error.fix, /by their IP/);
  }
  assert.equal((await adding('127.0.0.1', allowed)).code, 0);
  const tried = async (env: Record<string, string>) => {
    const { out } = await other.svc(['webhook', 'test', 'inside', ...scope, '--json'], { env });
    const { delivery } = JSON.parse(out);
    return [delivery.statusCode, delivery.error];
  };
  const trusted = { ...allowed, NODE_EXTRA_CA_CERTS: ca };
  assert.deepEqual(await tried(trusted), [204, '']);
  assert.match(String((await tried(allowed))[1]), /^TLS failed/);
  appendFileSync(join(other.dir, 'svc.env'), `NODE_EXTRA_CA_CERTS=${ca}\n`);
  assert.match(String((await tried(allowed))[1]), /^TLS failed/, 'the command does not take it from svc.env');
});
