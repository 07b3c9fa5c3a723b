// The audit log by command: an operator who lists, follows, exports and verifies it, and who erases a person.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../harness/checkout.js';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
type Verified = { ok: boolean; entries: number; head: string; seq: number; publicKey: string; firstBad?: number };
const isPostgres = process.env.SVC_TEST_DATABASE === 'postgres';
let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  for (const name of ['ada', 'eve'])
    await place.json(
      ['user', 'create', '--project', 'shop', '--email', `${name}@mail.example`, '--id', name, '--password-stdin'],
      'correct horse battery',
    );
});
after(() => place.dispose());

const verify = () => place.json<Verified>(['audit', 'verify']);

test('what commands do is sealed and listed without a server', async () => {
  const { entries } = await place.json<{ entries: Json[] }>(['audit', 'list']);
  assert.deepEqual(entries.map(({ action }) => action).slice(0, 3), [
    'accountCreated',
    'accountCreated',
    'projectCreated',
  ]);
  assert.deepEqual(entries[0]?.actor, { kind: 'operator', id: 'cli' });
  const found = await place.json<{ entries: Json[] }>([
    'audit',
    'list',
    '--project',
    'shop',
    '--resource',
    'users/eve',
  ]);
  assert.equal(found.entries.length, 1);
  assert.match((await place.svc(['audit', 'list', '--limit', '1'])).out, /^SEQ +TIME +ACTOR.*\n\d+ .*accountCreated/);
  assert.equal((await place.svc(['audit', 'list', '--project', 'none'])).code, 3);
  const { ok, seq, head } = await verify();
  assert.deepEqual([ok, seq], [true, entries.length]);
  assert.equal((await place.svc(['audit', 'verify', '--head', head])).code, 0);
  assert.equal(
    (await place.svc(['audit', 'verify', '--head', head.replace(/^./, (one) => (one === 'A' ? 'B' : 'A'))])).code,
    1,
  );
});

test('an action of a server key on a user is listed with both', async () => {
  const scopes = ['apikey', 'create', '--project', 'shop', '--name', 'support', '--scopes', 'users.write'];
  const key = await place.json<{ $id: string; secret: string }>(scopes);
  const server = await place.serve();
  const send = async (method: string, path: string, headers: Record<string, string>, body: Json) => {
    const given = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json', ...headers };
    const answer = await fetch(server.url + path, { method, headers: given, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path} ${answer.status}`);
    return (await answer.json()) as Json;
  };
  const { jwt } = await send('POST', '/users/ada/jwts', { 'X-Service-Key': key.secret }, {});
  await send('PATCH', '/account/name', { 'X-Service-JWT': String(jwt) }, { name: 'Ada' });
  server.signal('SIGTERM');
  await server.ended;
  for (const command of [
    ['list', '--action', 'accountNameChanged'],
    ['tail', '--no-follow'],
  ])
    assert.match(
      (await place.svc(['audit', ...command])).out,
      new RegExp(`user ada by key ${key.$id} +accountNameChanged`),
    );
});

test('a change by SQL is exit code 1 and the number of the entry', async () => {
  const on = isPostgres ? ' on audit_entries' : '';
  await place.sql(`drop trigger audit_keep_content${on}`);
  const [row] = await place.sql('select resource from audit_entries where seq = 2');
  await place.sql("update audit_entries set resource = 'users/x' where seq = 2");
  const { code, out } = await place.svc(['audit', 'verify', '--json']);
  assert.equal(code, 1);
  const { ok, firstBad, problem, bad } = JSON.parse(out);
  assert.deepEqual([ok, firstBad, bad], [false, 2, [{ seq: 2, problem }]]);
  assert.match((await place.svc(['audit', 'verify'])).out, /^first bad entry +2$/m);
  const [later] = await place.sql('select resource from audit_entries where seq = 3');
  await place.sql("update audit_entries set resource = 'users/x' where seq = 3");
  assert.match(
    (await place.svc(['audit', 'verify'])).out,
    /^first bad entry +2$[\s\S]*^also bad +3: The entry was changed/m,
  );
  await place.sql(`update audit_entries set resource = '${row?.resource}' where seq = 2`);
  await place.sql(`update audit_entries set resource = '${later?.resource}' where seq = 3`);
  assert.equal((await verify()).ok, true);
});

test('an export is verified without an installation', async () => {
  const { out } = await place.svc(['audit', 'export']);
  const elsewhere = mkdtempSync(join(tmpdir(), 'svc-elsewhere-'));
  after(() => rmSync(elsewhere, { recursive: true }));
  const file = join(elsewhere, 'audit.ndjson');
  const { publicKey } = await verify();
  const there = async (args: readonly string[]) => {
    const child = spawn(process.execPath, [join(root, 'bin/svc'), 'audit', 'verify', ...args], {
      cwd: elsewhere,
      env: { PATH: process.env.PATH, HOME: elsewhere },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    child.stdout.on('data', (part) => {
      text += part;
    });
    let err = '';
    child.stderr.on('data', (part) => {
      err += part;
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    return { code, text, err };
  };
  writeFileSync(file, out);
  assert.equal((await there(['--file', file, '--public-key', publicKey])).code, 0);
  const lines = out.trimEnd().split('\n');
  const at = lines.findIndex((line) => line.includes('accountCreated'));
  const entry = JSON.parse(lines[at] ?? '');
  const columns = [
    'seq',
    'id',
    'projectId',
    'at',
    'actorKind',
    'actorId',
    'action',
    'resource',
    'requestId',
    'data',
    'mac',
  ];
  const digest = createHash('sha256')
    .update(JSON.stringify(columns.map((name) => entry[name])))
    .digest('base64url');
  for (const [name, line] of [
    ['only the digest of an entry', JSON.stringify({ seq: entry.seq, digest, hash: entry.hash })],
    ['a member that stands twice', (lines[at] ?? '').replace('{', '{"action":"another",')],
  ] as const) {
    writeFileSync(file, lines.with(at, line).join('\n'));
    const { code, text } = await there(['--file', file, '--public-key', publicKey, '--json']);
    assert.deepEqual([code, JSON.parse(text).firstBad], [1, entry.seq], name);
  }
  writeFileSync(file, out.replace('accountCreated', 'accountDeleted'));
  const changed = await there(['--file', file, '--json']);
  assert.deepEqual([changed.code, JSON.parse(changed.text).ok], [1, false]);
  writeFileSync(file, 'SVC_PORT=8080\n');
  const foreign = await there(['--file', file]);
  assert.deepEqual([foreign.code, foreign.text], [1, ''], 'no alarm');
  assert.match(
    foreign.err,
    /^error: \S+ is not an export of the audit log: .*\nnext: name the file that svc audit export/,
  );
  assert.equal((await there(['--file', join(elsewhere, 'none')])).code, 3);
  assert.equal((await there(['--file', file, '--public-key', 'x'])).code, 2);
  assert.deepEqual(readdirSync(elsewhere), ['audit.ndjson']);
});

test('tail prints new entries', async () => {
  const child = spawn('svc', ['audit', 'tail', '--lines', '1', '--json'], { cwd: place.dir, env: place.env });
  after(() => child.kill());
  let text = '';
  child.stdout.on('data', (part) => {
    text += part;
  });
  const lines = () => text.split('\n').filter((line) => line !== '');
  const until = async (count: number) => {
    for (let tries = 0; lines().length < count && tries < 400; tries++) await sleep(25);
    assert.equal(lines().length, count, text);
  };
  await until(1);
  await place.json(['user', 'block', 'ada', '--project', 'shop']);
  await until(2);
  assert.equal(JSON.parse(lines()[1] ?? '').action, 'accountBlocked');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'exit'), [130, null]);
});

test('a person is erased beside a server that runs, once the name is given', async () => {
  const server = await place.serve();
  const erase = ['user', 'erase', 'eve@mail.example', '--project', 'shop'];
  assert.equal((await place.svc(erase)).code, 4);
  const wrong = await place.svc([...erase, '--confirm', 'ada']);
  assert.equal(wrong.code, 4);
  assert.match(wrong.err, /it must be eve@mail\.example or eve\./);
  const value = await place.json<Json>([...erase, '--confirm', 'eve@mail.example']);
  assert.deepEqual([value.$id, value.erased], ['eve', true]);
  const byAddress = await place.svc(erase);
  assert.equal(byAddress.code, 3);
  assert.match(byAddress.err, /A user who was erased before is named by id/);
  const [, listing = ''] = /next: (svc audit list .*) shows/.exec(byAddress.err) ?? [];
  assert.match((await place.shell(listing)).out, /accountErased +users\/eve/);
  const repeated = ['user', 'erase', 'eve', '--project', 'shop', '--confirm', 'eve'];
  const [, documents = ''] = /Those that the user created: (.*)/.exec((await place.svc(repeated)).err) ?? [];
  assert.equal((await place.shell(documents)).code, 0, documents);
  const again = await place.json<Json>(repeated);
  const { files, messages, events, auditValues } = again;
  assert.deepEqual([files, messages, events, auditValues], [0, 0, 0, 0], 'what was erased before does not count');
  if (!isPostgres) {
    for (const name of readdirSync(join(place.dir, 'data')))
      assert.ok(!readFileSync(join(place.dir, 'data', name), 'latin1').includes('eve@mail.example'), name);
  }
  assert.ok(!server.log().includes('eve@mail.example'));
  assert.equal((await verify()).ok, true);
});
