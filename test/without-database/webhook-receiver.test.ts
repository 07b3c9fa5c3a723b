// The receiving side of webhooks: `svc webhook listen` and `svc webhook verify` need no installation, and take what any sender of Standard Webhooks sends.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';

const place = await install({ init: false });
after(() => place.dispose());

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const secretFile = join(place.dir, 'whsec.txt');
writeFileSync(secretFile, `${secret}\n`);
const body = '{"id":"e1","type":"documentCreated","data":{"$id":"ä"}}';

/** The headers of a delivery at a time, as the reference library signs it. */
function signed(at = new Date(), text = body) {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  return {
    signature: createHmac('sha256', secret).update(text).digest('hex'),
    id: 'e1',
    timestamp,
    'standard-signature': new Webhook(secret).sign('e1', at, text),
  };
}

async function verify(flags: Record<string, string>, text = body) {
  const file = join(place.dir, 'body.json');
  writeFileSync(file, text);
  const given = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const run = await place.svc([
    'webhook',
    'verify',
    '--secret-file',
    secretFile,
    '--body-file',
    file,
    ...given,
    '--json',
  ]);
  return {
    ...run,
    checks: run.out === '' ? [] : (JSON.parse(run.out).checks as { header: string; ok: boolean; reason: string }[]),
  };
}

test('verify accepts signatures by our header, by the standard, and by two secrets', async () => {
  const { signature, ...standard } = signed();
  for (const flags of [{ signature }, standard, { signature, ...standard }]) {
    const { code, checks } = await verify(flags);
    assert.equal(code, 0);
    assert.ok(checks.length > 0 && checks.every(({ ok }) => ok));
  }
  const other = new Webhook(`whsec_${Buffer.alloc(32, 8).toString('base64')}`).sign('e1', new Date(), body);
  const both = { ...standard, 'standard-signature': `${other} ${standard['standard-signature']}` };
  assert.equal((await verify(both)).code, 0);
  assert.equal((await verify({ ...standard, 'standard-signature': other })).code, 1);
});

test('verify names the header that is wrong', async () => {
  const good = signed();
  const old = signed(new Date(Date.now() - 600_000));
  const wrong: [string, Record<string, string>, string, string[]][] = [
    ['a byte of the body', good, body.replace('e1', 'e2'), ['X-Service-Signature', 'webhook-signature']],
    ['the id', { ...good, id: 'e2' }, body, ['webhook-signature']],
    ['the plain signature', { ...good, signature: 'ab'.repeat(32) }, body, ['X-Service-Signature']],
    ['a signature that is none', { ...good, signature: 'AB' }, body, ['X-Service-Signature']],
    ['sent again after ten minutes', old, body, ['webhook-timestamp']],
    ['another time', { ...good, timestamp: old.timestamp }, body, ['webhook-timestamp', 'webhook-signature']],
    ['a time that is none', { ...good, timestamp: 'today' }, body, ['webhook-timestamp', 'webhook-signature']],
    [
      'another version',
      { ...good, 'standard-signature': good['standard-signature'].replace('v1,', 'v1a,') },
      body,
      ['webhook-signature'],
    ],
  ];
  for (const [name, flags, text, headers] of wrong) {
    const { code, checks } = await verify(flags, text);
    assert.equal(code, 1, name);
    assert.deepEqual(
      checks.filter(({ ok }) => !ok).map(({ header }) => header),
      headers,
      name,
    );
    assert.ok(
      checks.every(({ ok, reason }) => ok === (reason === '')),
      name,
    );
  }
  assert.throws(
    () =>
      new Webhook(secret).verify(body, {
        'webhook-id': 'e1',
        'webhook-timestamp': old.timestamp,
        'webhook-signature': old['standard-signature'],
      }),
    /too old/,
  );
  assert.equal((await verify({ ...old, tolerance: '1h' })).code, 0);
});

test('verify asks for missing arguments', async () => {
  const { id, timestamp } = signed();
  for (const flags of [{}, { id, timestamp }, { signature: 'ab', id }] as Record<string, string>[])
    assert.equal((await verify(flags)).code, 2);
  const absent = ['webhook', 'verify', '--secret-file', join(place.dir, 'none'), '--signature', 'ab'];
  assert.equal((await place.svc(absent)).code, 3);
});

test('listen refuses a wrong duration before it listens', async () => {
  const { code, out, err } = await place.svc(['webhook', 'listen', '--port', '0', '--for', '5', '--json']);
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /--for/);
});

/** Runs `listen` for some seconds on a free port, and calls `body` with its address once it listens. */
async function whileListening(flags: readonly string[], body: (url: string) => Promise<void>) {
  const port = await freePort();
  const run = place.svc(['webhook', 'listen', '--port', String(port), '--for', '6s', '--json', ...flags]);
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    if (await fetch(url).catch(() => undefined)) break;
    await sleep(50);
  }
  await body(url);
  const { code, out, err } = await run;
  const [first, , ...heard] = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(first, { url });
  return { code, err, heard: heard as { event: string; eventId: string; status: number; error: string }[] };
}

test('listen checks deliveries, hands them on as they are, and answers as the application does', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(202).end('taken');
  const { signature, id, timestamp, 'standard-signature': standard } = signed();
  const headers = {
    ...{ 'x-service-event': 'documentCreated', 'x-service-signature': signature },
    ...{ 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': standard },
  };
  const flags = ['--secret-file', secretFile, '--forward-to', `${receiver.origin}/in`];
  const { code, err, heard } = await whileListening(flags, async (url) => {
    const post = (given: Record<string, string>, text = body) =>
      fetch(url, { method: 'POST', headers: given, body: text });
    const answer = await post(headers);
    assert.deepEqual([answer.status, await answer.text()], [202, 'taken']);
    assert.equal((await post(headers, body.replace('e1', 'e2'))).status, 401);
    assert.equal((await post({})).status, 401);
  });
  assert.deepEqual(
    receiver.calls.map((call) => [call.url, call.body.toString(), call.headers['webhook-signature']]),
    [['/in', body, standard]],
  );
  assert.deepEqual(
    heard.map(({ event, eventId, status }) => [event, eventId, status]),
    [
      ['documentCreated', 'e1', 202],
      ['documentCreated', 'e1', 401],
      ['documentCreated', '', 401],
    ],
  );
  assert.match(heard[1]?.error ?? '', /^X-Service-Signature does not fit/);
  assert.equal(heard[2]?.error, 'the request has no signature');
  assert.equal(code, 1);
  assert.match(err, /received: 4, refused: 2/);
});

test('listen without a secret and without an application accepts everything, and reports an unreachable target', async () => {
  const taken = await whileListening([], async (url) => {
    assert.equal((await fetch(url, { method: 'POST', body: '{"type":"user.created"}' })).status, 204);
  });
  assert.equal(taken.code, 0);
  assert.deepEqual(
    taken.heard.map(({ event, status }) => [event, status]),
    [['user.created', 204]],
  );
  const away = await whileListening(['--forward-to', 'http://127.0.0.1:1025/'], async (url) => {
    assert.equal((await fetch(url, { method: 'POST', body })).status, 502);
  });
  assert.match(away.heard[0]?.error ?? '', /^the application could not be reached/);
  assert.equal((await place.svc(['webhook', 'listen', '--port', 'x'])).code, 2);
  assert.equal((await place.svc(['webhook', 'listen', '--forward-to', 'localhost'])).code, 2);
});
