// `svc doctor` as an operator runs it: faults are planted, found by their codes, and gone once the suggested fix was carried out.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FindingCode, findingLevels } from '#src/cli/doctor/finding.js';
import { roomOn } from '#src/cli/doctor/machine-checks.js';
import { conditions } from '#src/platform/db/conditions.js';
import { selfSigned } from '../harness/certificate.js';
import { type Installation, install } from '../harness/cli.js';
import { createTrust, startMailServer } from '../harness/mail-server.js';
import { atTerminal, flat } from '../harness/pty.js';
import { after } from '../harness/runner.js';

type Finding = { code: string; level: string; message: string; fix: string };
type Answer = { ok: boolean; checks: number; findings: Finding[] };

const isPostgres = process.env.SVC_TEST_DATABASE === 'postgres';
const long = '2020-01-01T00:00:00.000Z';
/** Codes that were found in one test or another. */
const met = new Set<string>();
let place: Installation;
let settingsFile: string;
before(async () => {
  place = await install();
  settingsFile = join(place.dir, 'svc.env');
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(
    ['user', 'create', '--project', 'shop', '--email', 'ada@example.com', '--password-stdin'],
    'tall-bicycle',
  );
  await place.json(
    ['user', 'create', '--project', 'shop', '--email', 'bob@example.com', '--password-stdin'],
    'tall-bicycle',
  );
});
after(() => place.dispose());

/** Runs it and looks at what holds for every answer. Which version of Node.js runs the tests is no fault of the installation. */
async function examine(env: Record<string, string> = {}, ...flags: string[]): Promise<Answer> {
  const { code, out, err } = await place.svc(['doctor', '--json', ...flags], { env });
  const answer: Answer = JSON.parse(out);
  assert.equal(err, '');
  const { SVC_MASTER_KEY: key = '' } = settings();
  for (const secret of [key, 'geheim']) assert.ok(secret !== '' && !out.includes(secret));
  assert.doesNotMatch(out, /\bselect\b.*\bfrom\b|\n\s+at /);
  for (const { code: name, level, message, fix } of answer.findings) {
    const known: Record<string, string> = {
      ...findingLevels,
      ...Object.fromEntries(conditions.map(({ type }) => [type, 'error'])),
    };
    assert.equal(level, known[name], name);
    assert.match(message, /^[A-Z/]/, name);
    assert.ok(fix !== '', name);
  }
  const { findings } = answer;
  assert.deepEqual([code, answer.ok], findings.some(({ level }) => level === 'error') ? [1, false] : [0, true]);
  for (const finding of findings) met.add(finding.code);
  return { ...answer, findings: findings.filter((finding) => finding.code !== 'node_end_of_life') };
}

const codesOf = ({ findings }: Answer) => [...new Set(findings.map((finding) => finding.code))].sort();
const settings = (): Record<string, string> =>
  Object.fromEntries(
    [...readFileSync(settingsFile, 'utf8').matchAll(/^(SVC_\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]),
  );
const healthy = async () => assert.deepEqual((await examine()).findings, []);
const carryOut = async (line: string) => {
  const { code, err } = await place.shell(line);
  assert.equal(code, 0, `${line}: ${err}`);
};
/** Everything that the database holds of what a command could have changed. */
const contents = () =>
  place.sql(`select (select count(*) from audit_entries) as entries, (select count(*) from events) as events,
    (select count(*) from cron_jobs) as jobs, (select count(*) from installation) as facts,
    (select count(*) from signing_keys) as keys, (select count(*) from audit_keys) as audit_keys`);

test('a healthy installation has no findings, and looking at it changes nothing', async () => {
  const before = await contents();
  const { ok, checks, findings } = await examine();
  assert.deepEqual([ok, findings, checks > 20], [true, [], true]);
  assert.deepEqual(await contents(), before);
  const { code, out } = await place.svc(['doctor']);
  assert.equal(code, 0);
  assert.match(out, new RegExp(`(^|\\n)Checks made: ${checks}; errors: 0, warnings: \\d, infos: 0\\n$`));
  assert.ok((await examine({}, '--offline')).checks < checks);
});

test('without an installation it ends as every command does', async () => {
  const other = await install({ init: false });
  after(() => other.dispose());
  const { code, err } = await other.svc(['doctor', '--json']);
  assert.deepEqual([code, JSON.parse(err).error.type], [7, 'installation_not_found']);
});

test('a small heap is found, and the server logs it at its start', async () => {
  const { findings } = await examine({ NODE_OPTIONS: '--max-old-space-size=64' }, '--offline');
  const [found] = findings.filter(({ code }) => code === 'memory_limit');
  assert.match(found?.message ?? '', /^The heap of Node\.js is limited to \d+ MiB; large responses need 140 MiB\.$/);
  assert.match(found?.fix ?? '', /--max-old-space-size/);
  const server = await place.serve([], { NODE_OPTIONS: '--max-old-space-size=64' });
  assert.match(server.log(), /memory\.limit/);
  server.signal('SIGTERM');
  await server.ended;
});

test('a finding is a line with its level, and a line with its fix', async () => {
  const { code, out } = await place.svc(['doctor'], { env: { SVC_RATE_LIMIT: 'off' } });
  assert.equal(code, 0);
  assert.match(
    out,
    /^warning {2}rate_limit_off {2}SVC_RATE_LIMIT is set: .*\.\n {9}fix: remove SVC_RATE_LIMIT from the settings$/m,
  );
});

test('in a narrow terminal findings are wrapped by words, below their text', async () => {
  const { out } = await atTerminal(place, ['doctor', '--offline'], [], 50);
  const lines = out.trimEnd().split(/\r?\n/);
  assert.ok(lines.length > 4, out);
  for (const line of lines) assert.ok(line.length <= 50 || /fix: svc /.test(line), line);
  const whole = (await place.svc(['doctor', '--offline'])).out;
  assert.equal(flat(out).trim(), flat(whole).trim());
});

test('the fix of a finding names the installation that was looked at', async () => {
  const { out } = await place.svc(['--config', './svc.env', 'doctor', '--offline'], {
    env: { SVC_FILES_FROM: 'file:before' },
  });
  assert.match(out, /fix: .*svc --config \.\/svc\.env files move/);
});

test('settings that are wrong or not for production', async () => {
  const other = createServer((_, response) => response.end('somebody else')).listen(0, '127.0.0.1');
  await new Promise((listening) => other.once('listening', listening));
  const { port } = other.address() as AddressInfo;
  writeFileSync(join(place.dir, 'plain'), '');
  const loose = {
    SVC_BASE_URL: 'http://api.example.com/v1',
    SVC_TOKENS_IN_RESPONSE: 'any',
    SVC_RATE_LIMIT: 'off',
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
    SVC_EGRESS_ALLOW: '10.0.0.0/8',
    SVC_PRT: '1',
    SVC_TEMPLATES_DIR: join(place.dir, 'none'),
    SVC_FILES_URL: `file:${join(place.dir, 'plain')}`,
    SVC_PORT: String(port),
  };
  const found = await examine(loose, '--offline');
  other.close();
  assert.deepEqual(codesOf(found), [
    ...['base_url_insecure', 'file_store_unusable', 'insecure_targets', 'mail_not_configured', 'port_taken'],
    ...['private_targets', 'rate_limit_off', 'setting_unknown', 'templates_missing', 'tokens_in_response'],
  ]);
  assert.match(
    found.findings.find(({ code }) => code === 'port_taken')?.fix ?? '',
    /set SVC_PORT=\d+ in the environment$/,
  );
  await healthy();
  writeFileSync(settingsFile, 'SVC_SESSION_DAYS=7\nSVC_SESSION_DAYS=8\n', { flag: 'a' });
  assert.deepEqual(codesOf(await examine({}, '--offline')), ['setting_repeated']);
  writeFileSync(settingsFile, readFileSync(settingsFile, 'utf8').replaceAll(/^SVC_SESSION_DAYS=.\n/gm, ''));
  writeFileSync(settingsFile, 'SVC_NOPE=geheim\nSVC_PASSWORD_MIN_LENGTH=1\n', { flag: 'a' });
  const { findings } = await examine();
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['configuration_invalid', 'configuration_invalid'],
  );
  writeFileSync(settingsFile, readFileSync(settingsFile, 'utf8').replace(/SVC_NOPE[\s\S]*$/, ''));
  await healthy();
});

test('a proxy that is not trusted, certificates, and texts', async () => {
  const away = {
    SVC_BASE_URL: 'https://api.example.com/v1',
    SVC_SMTP_URL: 'smtp://127.0.0.1:1',
    SVC_MAIL_FROM: 'a@example.com',
  };
  mkdirSync(join(place.dir, 'texts/emails/en/magic-link'), { recursive: true });
  writeFileSync(join(place.dir, 'texts/emails/en/magic-link/body.txt'), 'no link: {{nothing}}');
  const found = await examine({ ...away, SVC_TEMPLATES_DIR: join(place.dir, 'texts') });
  assert.deepEqual(codesOf(found), ['mail_unreachable', 'proxies_untrusted', 'template_faulty']);
  const elsewhere = await examine({ SVC_BASE_URL: 'http://localhost:1/v1', SVC_PORT: '2' }, '--offline');
  assert.deepEqual(codesOf(elsewhere), ['base_url_port']);
  const day = 86_400_000;
  const [cert, key] = [join(place.dir, 'cert.pem'), join(place.dir, 'key.pem')];
  const table: [string, number | undefined][] = [
    ['tls_unusable', undefined],
    ['tls_expired', -day],
    ['tls_expires_soon', 13 * day],
    ['', 15 * day],
  ];
  for (const [code, left] of table) {
    const pair = selfSigned(['api.example.com'], { from: Date.now() - 9 * day, until: Date.now() + (left ?? day) });
    writeFileSync(cert, pair.cert);
    writeFileSync(key, left === undefined ? selfSigned(['other.example.com']).key : pair.key);
    const env = { ...away, SVC_TLS_CERT: cert, SVC_TLS_KEY: key };
    const examined = await examine(env, '--offline');
    assert.deepEqual(codesOf(examined), code === '' ? [] : [code]);
    if (/expire/.test(code)) assert.match(examined.findings[0]?.fix ?? '', /systemctl reload svc, or SIGHUP$/);
  }
});

test('a mail server that does not take the login', async () => {
  const trust = createTrust();
  const server = await startMailServer({ tls: 'offered', login: { user: 'svc', password: 'right' } }, trust);
  const withPassword = (password: string) => ({
    SVC_SMTP_URL: `smtp://svc:${password}@localhost:${server.port}?ca=${trust.file}`,
    SVC_MAIL_FROM: 'a@example.com',
  });
  assert.deepEqual(codesOf(await examine(withPassword('geheim'))), ['mail_refused']);
  assert.deepEqual(codesOf(await examine(withPassword('right'))), []);
  assert.equal(server.mails.length + server.attempts, 0, 'no mail was sent');
});

test('mails that are all refused for good', async () => {
  const mailServer = await startMailServer();
  const smtp = { SVC_SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`, SVC_MAIL_FROM: 'a@example.com' };
  const server = await place.serve([], smtp);
  const counted = async () => {
    const metrics = await (await fetch(new URL('/metrics', server.url))).text();
    return /^svc_messages_total\{channel="email",outcome="failed"\} (\d+)$/m.exec(metrics)?.[1];
  };
  assert.equal(await counted(), '0', 'the series is there before the first mail');
  const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
  let asked = 0;
  const ask = async (state: string) => {
    asked += 1;
    const body = JSON.stringify({ userId: 'unique()', email: `somebody${asked}@example.com` });
    const answer = await fetch(`${server.url}/account/tokens/email`, { method: 'POST', headers, body });
    assert.equal(answer.status, 201);
    for (let tries = 0; tries < 200; tries++) {
      const [row] = await place.sql(`select count(*) as n from messages where state = '${state}'`);
      if (Number(row?.n) === (state === 'sent' ? 1 : asked)) return;
      await sleep(50);
    }
    assert.fail(server.log());
  };
  mailServer.onRecipient = () => ({ status: 550, words: '5.7.1 relaying denied' });
  await ask('failed');
  await ask('failed');
  assert.deepEqual(codesOf(await examine(smtp)), []);
  await ask('failed');
  assert.equal(await counted(), '3');
  const { findings } = await examine(smtp);
  assert.deepEqual(
    findings.map(({ code, level }) => [code, level]),
    [['mails_failing', 'warning']],
  );
  assert.match(findings[0]?.message ?? '', / 3 have failed and none was sent\..* 550 5\.7\.1\.$/);
  await place.sql(`update messages set created_at = '${long}'`);
  assert.deepEqual(codesOf(await examine(smtp)), [], 'they are not of the last hour');
  await place.sql(`update messages set created_at = '${new Date().toISOString()}'`);
  assert.deepEqual(codesOf(await examine(smtp)), ['mails_failing']);
  mailServer.onRecipient = () => undefined;
  await ask('sent');
  assert.deepEqual(codesOf(await examine(smtp)), []);
  server.signal('SIGTERM');
  await server.ended;
});

test('files and directories that others can use, or that cannot be used', async () => {
  const data = join(place.dir, 'data');
  chmodSync(settingsFile, 0o644);
  chmodSync(data, 0o755);
  if (!isPostgres) chmodSync(join(data, 'svc.db'), 0o644);
  const { findings } = await examine();
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['settings_file_readable', 'data_directory_readable', ...(isPostgres ? [] : ['database_file_readable'])],
  );
  for (const { fix } of findings) await carryOut(fix);
  await healthy();
  const database: Record<string, string> = isPostgres ? {} : { SVC_DATABASE_URL: `sqlite:${join(data, 'svc.db')}` };
  const missing = await examine({ ...database, SVC_DATA_DIR: join(place.dir, 'not/there') });
  assert.deepEqual(codesOf(missing), ['data_directory_missing']);
  assert.ok(!existsSync(join(place.dir, 'not')), 'it makes nothing');
  await carryOut(missing.findings[0]?.fix.replace(/^.*: /, '') ?? '');
  assert.deepEqual(codesOf(await examine({ ...database, SVC_DATA_DIR: join(place.dir, 'not/there') })), []);
  const plain = await examine({ ...database, SVC_DATA_DIR: join(place.dir, 'plain') });
  assert.deepEqual(codesOf(plain), ['data_directory_unusable']);
});

test('stores and servers that do not answer hold it up for seconds only', async () => {
  const hole = createSocketServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(hole, 'listening');
  const { port } = hole.address() as AddressInfo;
  const s3 = (origin: string) => ({
    ...{ SVC_FILES_URL: `s3://nowhere?endpoint=http://${origin}`, SVC_FILES_KEY_ID: 'id', SVC_FILES_SECRET: 'geheim' },
  });
  assert.deepEqual(codesOf(await examine(s3('127.0.0.1:1'))), ['file_store_unusable']);
  const started = performance.now();
  const { findings } = await examine({
    ...s3(`127.0.0.1:${port}`),
    ...{ SVC_SMTP_URL: `smtp://127.0.0.1:${port}`, SVC_MAIL_FROM: 'a@example.com', SVC_PORT: String(port) },
  });
  const seconds = (performance.now() - started) / 1000;
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['port_taken', 'mail_unreachable', 'check_failed'],
  );
  assert.match(findings[2]?.message ?? '', /^The check of the files took longer than 5 s\.$/);
  assert.ok(seconds < 15, `${seconds} s`);
  hole.close();
});

test('room on the disk', async () => {
  const [mebibyte, gibibyte] = [2 ** 20, 2 ** 30];
  const table: [number, number, string[]][] = [
    [99 * mebibyte, gibibyte, ['disk_full']],
    [gibibyte, 100 * gibibyte, ['disk_nearly_full']],
    [6 * gibibyte, 1000 * gibibyte, []],
    [gibibyte, 2 * gibibyte, []],
  ];
  for (const [free, total, codes] of table)
    assert.deepEqual(
      roomOn('/data', free, total).map(({ code }) => code),
      codes,
      `${free} of ${total}`,
    );
  const small = join(place.dir, 'small');
  mkdirSync(small, { mode: 0o700 });
  const mounted = `mount -t tmpfs -o size=2m,mode=0700 none ${small}`;
  // Not everybody may mount.
  if ((await place.shell(`unshare -m sh -c '${mounted}'`)).code !== 0) return;
  const database = isPostgres ? '' : `SVC_DATABASE_URL=sqlite:${join(place.dir, 'data/svc.db')}`;
  const { out } = await place.shell(
    `unshare -m sh -c '${mounted} && ${database} SVC_DATA_DIR=${small} svc doctor --json'`,
  );
  assert.match(out, /"disk_full"/);
});

test('a database that is away, damaged, or of something else', async () => {
  const url = 'SVC_DATABASE_URL';
  const table: [string, Record<string, string>][] = [
    ['database_unreachable', { [url]: 'postgres://svc:geheim@127.0.0.1:1/svc' }],
    ['database_file_missing', { [url]: 'sqlite:none.db' }],
    ['database_damaged', { [url]: `sqlite:${join(place.dir, 'bad.db')}` }],
    ['schema_pending', { [url]: `sqlite:${join(place.dir, 'empty.db')}` }],
    ['master_key_wrong', { SVC_MASTER_KEY: Buffer.alloc(32, 7).toString('base64url') }],
  ];
  if (isPostgres) {
    const of = (change: (address: URL) => void) => {
      const address = new URL(place.env.SVC_DATABASE_URL ?? '');
      change(address);
      return { [url]: address.href };
    };
    table.push(['database_login_refused', of((address) => Object.assign(address, { password: 'geheim' }))]);
    table.push(['database_missing', of((address) => Object.assign(address, { pathname: '/nowhere' }))]);
  }
  writeFileSync(join(place.dir, 'bad.db'), 'no database '.repeat(1000), { mode: 0o600 });
  writeFileSync(join(place.dir, 'empty.db'), '', { mode: 0o600 });
  for (const [code, env] of table) assert.deepEqual(codesOf(await examine(env)), [code], code);
  assert.ok(!existsSync(join(place.dir, 'none.db')));
});

test('a schema of another version', async () => {
  await place.svc(['migrate', 'down', '--confirm', place.database]);
  const { findings } = await examine();
  assert.deepEqual(
    findings.map(({ code, fix }) => [code, fix]),
    [['schema_pending', 'svc migrate']],
  );
  await carryOut(findings[0]?.fix ?? '');
  await healthy();
  await place.sql(`insert into schema_migrations (name, applied_at) values ('9999_later', '${long}')`);
  assert.deepEqual(codesOf(await examine()), ['schema_newer']);
  await place.sql(`delete from schema_migrations where name = '9999_later'`);
  await healthy();
});

test('Postgres that is read-only, or whose clock differs', { skip: !isPostgres && 'another database' }, async () => {
  const alter = (text: string) => place.sql(`alter database "${place.database}" ${text}`);
  await alter('set default_transaction_read_only = on');
  assert.deepEqual(codesOf(await examine()), ['database_read_only']);
  // Each session may still choose for itself.
  await place.sql(`begin read write; alter database "${place.database}" reset default_transaction_read_only; commit`);
  await place.sql(`create schema other; create function other.clock_timestamp() returns timestamptz language sql
    as 'select pg_catalog.clock_timestamp() + interval ''1 hour'''`);
  await alter('set search_path = other, pg_catalog, public');
  assert.deepEqual(codesOf(await examine()), ['clock_differs']);
  await alter('reset search_path');
  await place.sql('drop schema other cascade');
  await healthy();
});

test('faults of the database and the file store are found at once and fixed one by one', async () => {
  const scope = ['--project', 'shop', '--database', 'blog'];
  await place.json(['database', 'create', 'Blog', '--project', 'shop', '--id', 'blog']);
  await place.json(['collection', 'create', 'Posts', ...scope, '--id', 'posts']);
  await place.json(['collection', 'add-attribute', 'posts', 'rank', ...scope, '--type', 'integer']);
  await place.json(['team', 'create', 'Night', '--project', 'shop', '--id', 'night']);
  const hook = ['--name', 'Hook', '--url', 'https://hooks.example.com/', '--events', '*'];
  const { $id } = await place.json<{ $id: string }>(['webhook', 'add', '--project', 'shop', ...hook]);
  const other = await place.json<{ $id: string }>(['webhook', 'add', '--project', 'shop', ...hook]);
  await place.json(['keys', 'rotate', '--project', 'shop']);
  await place.json(['cron', 'run', 'limits.prune']);
  await place.json(['cron', 'run', 'sessions.expire']);
  await place.json(['audit', 'verify']);
  await healthy();

  await place.json(['team', 'add', 'night', 'ada@example.com', '--project', 'shop', '--roles', 'driver']);
  const first = `(select max(seq) from audit_entries)`;
  const [entry] = await place.sql(`select id, action from audit_entries where seq = ${first}`);
  const orphan = join(place.dir, 'data/files/p/orphan');
  mkdirSync(join(orphan, '..'), { recursive: true });
  writeFileSync(orphan, 'text');
  await place.sql(`update cron_jobs set last_error = 'It failed.' where name = 'limits.prune'`);
  await place.sql(`update cron_jobs set owner = 'gone', lease_until = '${long}' where name = 'sessions.expire'`);
  await place.sql(`update cron_jobs set last_started_at = '2999-01-01T00:00:00.000Z' where name = 'sessions.expire'`);
  await place.sql(`update webhooks set enabled = 0, attempts = 9, failing_since = '${long}' where id = '${$id}'`);
  const unwanted = await place.json<{ $id: string }>(['webhook', 'add', '--project', 'shop', ...hook]);
  await place.sql(`update webhooks set attempts = 9, failing_since = '${long}' where id = '${unwanted.$id}'`);
  await place.json(['webhook', 'update', unwanted.$id, '--project', 'shop', '--enabled', 'off']);
  await place.sql(`update webhooks set logs = 'refused', failing_since = '${long}' where id = '${other.$id}'`);
  await place.sql(`update signing_keys set signs_from = '${long}'`);
  await place.sql(`update events set created_at = '${long}' where dispatched_at is null`);
  await place.sql(`drop trigger audit_keep_content${isPostgres ? ' on audit_entries' : ''}`);
  await place.sql(`update audit_entries set action = 'x' where id = '${entry?.id}'`);
  await place.sql(`insert into file_objects (key, project_id, bucket_key, file_id, number, size, stored_size, state, changed_at)
    values ('p/lost', 'shop', 'b', 'f', 0, 1, 1, 'stored', '${long}')`);
  await place.sql(`insert into list_scans (collection, shape, lists, total_ms, longest_ms, last_at)
    select number, '{"where":[["equal",1]],"orders":[]}', 3, 3000, 2000, '${long}' from collections where id = 'posts'`);
  const { findings } = await examine();
  assert.deepEqual([...new Set(findings.map(({ code }) => code))].sort(), [
    ...['audit_broken', 'clock_behind', 'files_missing', 'files_unknown', 'job_abandoned', 'job_failed', 'query_slow'],
    ...['signing_key_old', 'team_without_owner', 'webhook_disabled', 'webhook_failing', 'webhooks_behind'],
  ]);
  assert.ok(!findings.some(({ message }) => message.includes(unwanted.$id)), 'the operator has disabled it');
  const fixOf = (code: string) => findings.find((finding) => finding.code === code)?.fix ?? '';
  assert.equal(fixOf('webhook_disabled'), `svc webhook update ${$id} --project shop --enabled on`);
  assert.equal(fixOf('webhook_failing'), `svc webhook test ${other.$id} --project shop`);

  // The receiver works again.
  await place.sql(`update webhooks set failing_since = null where id = '${other.$id}'`);
  // By hand, as somebody who has a copy would; then by the commands that the findings name.
  await place.sql(`update audit_entries set action = '${entry?.action}' where id = '${entry?.id}'`);
  await place.sql(`delete from file_objects where key = 'p/lost'`);
  rmSync(orphan);
  for (const code of ['webhook_disabled', 'job_failed', 'job_abandoned', 'signing_key_old', 'query_slow'])
    await carryOut(fixOf(code));
  await carryOut(fixOf('team_without_owner').replace('USER', 'bob@example.com'));
  const server = await place.serve();
  let left = codesOf(await examine());
  for (const end = performance.now() + 60_000; left.length > 0 && performance.now() < end; await sleep(300))
    left = codesOf(await examine());
  assert.deepEqual(left, []);
  server.signal('SIGTERM');
  await server.ended;
  await healthy();
});

test('an origin that was refused is found, and allowed by the fix', async () => {
  const server = await place.serve();
  const page = { Origin: 'https://front.example' };
  const preflight = { method: 'OPTIONS', headers: { ...page, 'Access-Control-Request-Method': 'GET' } };
  assert.equal((await fetch(`${server.url}/account`, preflight)).status, 204);
  const headers = { ...page, 'X-Appwrite-Project': 'shop' };
  assert.equal((await fetch(`${server.url}/account`, { headers })).status, 401);
  const app = { Origin: 'appwrite-ios://com.example.app', 'X-Appwrite-Project': 'shop' };
  assert.equal((await fetch(`${server.url}/account`, { headers: app })).status, 401);
  server.signal('SIGTERM');
  await server.ended;
  await place.json(['audit', 'list']);
  const { findings } = await examine();
  const fixes = findings.map(({ code, fix }) => [code, fix]).sort();
  const fix = 'if the page is yours: svc platform add --project';
  assert.deepEqual(fixes, [
    ['origin_refused', 'if the app is yours: svc platform add --project shop --type apple --package com.example.app'],
    ['origin_refused', `${fix} ID --hostname front.example`],
    ['origin_refused', `${fix} shop --hostname front.example`],
  ]);
  for (const at of [0, 2]) await carryOut(fixes[at]?.[1]?.split(': ')[1] ?? '');
  await healthy();
});

test('a scheduled backup that was never made, has failed or is too old is found, and made by the fix', async () => {
  // Migrations back up first.
  await place.sql('delete from backups');
  const target = join(place.dir, 'to');
  const before = readFileSync(settingsFile, 'utf8');
  writeFileSync(settingsFile, `SVC_BACKUP_CRON=0 3 * * *\nSVC_BACKUP_TO=${target}\n`, { flag: 'a' });
  const fixOf = async (code: string) => {
    const findings = (await examine()).findings.filter((finding) => finding.code !== 'file_store_unusable');
    assert.deepEqual([findings.length, findings[0]?.code], [1, code]);
    return findings[0]?.fix ?? '';
  };
  writeFileSync(target, 'a file where a directory should be');
  const never = await fixOf('backup_missing');
  assert.equal((await place.shell(never)).code, 1);
  const failed = await fixOf('backup_failed');
  rmSync(target);
  await carryOut(failed);
  await healthy();
  await place.sql(`update backups set created_at = '${long}'`);
  await carryOut(await fixOf('backup_old'));
  await healthy();
  // As if its disk were not mounted.
  for (const name of readdirSync(target)) rmSync(join(target, name));
  const [, command = ''] = (await fixOf('backup_gone')).split('; if it was deleted, ');
  await carryOut(command);
  await healthy();
  const s3 = {
    SVC_BACKUP_TO: 's3://backups/p?endpoint=http://127.0.0.1:9',
    SVC_BACKUP_KEY_ID: 'k',
    SVC_BACKUP_SECRET: 's',
  };
  assert.ok(codesOf(await examine(s3)).includes('backup_place_unusable'));
  assert.match(
    (await place.svc(['config', 'check'], { env: s3 })).err,
    /SVC_BACKUP_TO names a store that cannot be used/,
  );
  writeFileSync(settingsFile, before);
});

test('a replacement of the master key that was interrupted is found, and completed by the fix', async () => {
  await place.sql("insert into installation (name, value) values ('key_former', 'x')");
  const { findings } = await examine({}, '--offline');
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['rotation_unfinished'],
  );
  await carryOut(findings[0]?.fix ?? '');
  await healthy();
});

test('a log file that cannot be written is found', async () => {
  const { findings } = await examine({ SVC_LOG_FILE: join(place.dir, 'none/svc.log') }, '--offline');
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['log_file_unusable'],
  );
});

test('a move of files that is not finished is finished by the fix', async () => {
  const from = join(place.dir, 'before');
  mkdirSync(from, { mode: 0o700 });
  writeFileSync(settingsFile, `SVC_FILES_FROM=file:${from}\n`, { flag: 'a' });
  const { findings } = await examine();
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['files_move_unfinished'],
  );
  await carryOut(findings[0]?.fix ?? '');
  await healthy();
});

test('a check that fails is a finding that names it, and the others are made', async () => {
  await place.sql('alter table webhooks rename to webhooks_away');
  const { findings } = await examine({ SVC_RATE_LIMIT: 'off' });
  const failed = findings.find(({ code }) => code === 'check_failed');
  assert.match(failed?.message ?? '', /^The check of the webhooks could not be made\. The database reports an error/);
  assert.ok(findings.some(({ code }) => code === 'rate_limit_off'));
  await place.sql('alter table webhooks_away rename to webhooks');
  await healthy();
});

test('a server that runs is no finding and is not disturbed', async () => {
  const server = await place.serve();
  const { port } = new URL(server.url);
  const call = async () => {
    const started = performance.now();
    const { status } = await fetch(new URL('/readyz', server.url));
    assert.equal(status, 200);
    return performance.now() - started;
  };
  let done = false;
  const calls = (async () => {
    const times: number[] = [];
    for (; !done; await sleep(25)) times.push(await call());
    return times;
  })();
  for (let run = 0; run < 3; run++) assert.deepEqual((await examine({ SVC_PORT: port })).findings, []);
  done = true;
  const times = await calls;
  assert.ok(times.length > 10 && Math.max(...times) < 5000, `${times.length} requests, up to ${Math.max(...times)} ms`);
  assert.doesNotMatch(server.log(), /"level":"error"/);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('every finding was met', () => {
  const elsewhere: Partial<Record<FindingCode, string>> = {
    node_end_of_life: 'the version of Node.js that runs the tests decides',
    disk_full: 'not everybody may mount a small disk',
    disk_nearly_full: 'a disk of this size is not at hand',
    standby_unusable: 'test/db/standby.test.ts',
    standby_late: 'test/db/standby.test.ts',
    ...(isPostgres
      ? { database_file_readable: 'Postgres has no file here' }
      : { clock_differs: 'SQLite has no clock' }),
  };
  const missed = Object.keys(findingLevels).filter((code) => !met.has(code) && !(code in elsewhere));
  assert.deepEqual(missed, []);
  assert.ok(met.size >= 35, `${met.size} codes`);
});
