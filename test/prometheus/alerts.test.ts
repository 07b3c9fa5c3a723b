// The alert rules in Prometheus itself: each fires on what it is for and on nothing else, and a real one scrapes a real server.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';

const run = promisify(execFile);
const rules = join(root, 'templates/grafana/alerts.yml');
const place = mkdtempSync(join(tmpdir(), 'svc-prometheus-'));
after(() => rmSync(place, { recursive: true, force: true }));

/** Where a program is; where it is not the test is skipped and nothing returned, or it fails if SVC_TEST_PROMETHEUS=required. */
function find(t: TestContext, name: string): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name));
  const found = paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found !== undefined) return found;
  const reason = `no ${name} found; put it into PATH to run the tests of the alert rules`;
  if (process.env.SVC_TEST_PROMETHEUS === 'required') assert.fail(reason);
  t.skip(reason);
  return undefined;
}

/** A rule, a series for which it fires, and one for which it does not; values a minute apart, in promtool's notation. */
type Case = readonly [alert: string, series: string, firing: string, quiet: string, labels?: Record<string, string>];
const at = 'job="svc",instance="a"';
const a = { instance: 'a' };
const whole = { job: 'svc', instance: 'a' };
const buckets = (slow: string, fast: string): readonly [string, string][] => [
  [`svc_http_request_duration_seconds_bucket{${at},le="1"}`, fast],
  [`svc_http_request_duration_seconds_bucket{${at},le="5"}`, slow],
  [`svc_http_request_duration_seconds_bucket{${at},le="+Inf"}`, slow],
];
const messages = (failed: string, sent: string): readonly [string, string][] => [
  [`svc_messages_total{${at},channel="email",outcome="failed"}`, failed],
  [`svc_messages_total{${at},channel="email",outcome="sent"}`, sent],
];
const cases: readonly Case[] = [
  ['SvcDown', `up{${at}}`, '0x180', '1x180', whole],
  ['SvcDatabaseDown', `svc_db_up{${at}}`, '0x180', '1x180', whole],
  ['SvcDatabaseReadOnly', `svc_db_writable{${at}}`, '0x180', '1x180', whole],
  ['SvcStandbyUnused', `svc_db_standby_up{${at}}`, '0x180', '1x180', whole],
  ['SvcInternalErrors', `svc_http_errors_total{${at},type="general_unknown"}`, '0x175 1x5', '7x180', a],
  ['SvcUnavailable', `svc_http_errors_total{${at},type="general_unavailable"}`, '0+60x180', '0+1x180', a],
  [
    'SvcJobOverdue',
    `svc_cron_seconds_since_success{${at},name="sessions.expire"}`,
    '700x180',
    '60x180',
    { ...whole, name: 'sessions.expire' },
  ],
  ['SvcWebhooksLate', `svc_webhook_due_seconds{${at}}`, '400x180', '200x180'],
  ['SvcMessagesLate', `svc_messages_oldest_seconds{${at},channel="email"}`, '1000x180', '60x180', { channel: 'email' }],
  ['SvcCertificateExpires', `svc_tls_certificate_expiry_timestamp_seconds{${at}}`, '1210000x180', '1230000x180', whole],
  ['SvcHashQueue', `svc_hash_queue{${at},state="waiting"}`, '30x180', '2x180', { ...whole, state: 'waiting' }],
  [
    'SvcSigningKeyOld',
    `svc_signing_key_age_seconds{${at},alg="RS256"}`,
    '7900000x180',
    '7800000x180',
    { alg: 'RS256' },
  ],
  ['SvcAuditUnsealed', `svc_audit_oldest_unsealed_seconds{${at}}`, '90x180', '2x180'],
  ['SvcBackupFailed', `svc_backup_failures_total{${at}}`, '0x170 1x10', '3x180'],
];
/** A scheduled backup that was due since the time 1000, the last one, and the seconds since the job has succeeded or is known. */
const backups = (last: string, sinceSuccess: string): readonly [string, string][] => [
  [`svc_backup_due_timestamp_seconds{${at}}`, '1000x180'],
  [`svc_backup_last_success_timestamp_seconds{${at}}`, last],
  [`svc_cron_seconds_since_success{${at},name="backup.create"}`, sinceSuccess],
];

test('each alert fires for its cause and no other', async (t) => {
  const promtool = find(t, 'promtool');
  if (promtool === undefined) return;
  await run(promtool, ['check', 'rules', rules]);
  const text = readFileSync(rules, 'utf8');
  const [names, severities] = [/- alert: (\w+)/g, /severity: (\w+)/g].map((one) =>
    [...text.matchAll(one)].map(([, word = '']) => word),
  );
  assert.deepEqual(
    new Set([...cases.map(([alert]) => alert), 'SvcSlow', 'SvcMessagesFailed', 'SvcBackupOld']),
    new Set(names),
  );
  const severityOf = (alert: string) => severities?.[names?.indexOf(alert) ?? -1];
  const scraped = { series: `up{${at}}`, values: '1x180' };
  /** The series of a group, which alert is asked for at its end, and with which labels it fires; none where it does not. */
  const group = (series: readonly (readonly [string, string])[], alert: string, labels?: Record<string, string>) => ({
    interval: '1m',
    input_series: [
      ...(alert === 'SvcDown' ? [] : [scraped]),
      ...series.map(([name, values]) => ({ series: name, values })),
    ],
    alert_rule_test: [
      {
        eval_time: '180m',
        alertname: alert,
        exp_alerts: labels === undefined ? [] : [{ exp_labels: { ...labels, severity: severityOf(alert) } }],
      },
    ],
  });
  const tests = [
    ...cases.flatMap(([alert, series, firing, quiet, labels = {}]) => [
      group([[series, firing]], alert, labels),
      group([[series, quiet]], alert),
    ]),
    group(buckets('0+60x180', '0+1x180'), 'SvcSlow', a),
    group(buckets('0+60x180', '0+60x180'), 'SvcSlow'),
    group(messages('0x175 3x5', '0x180'), 'SvcMessagesFailed', { channel: 'email' }),
    group(messages('5x175 7x5', '9x180'), 'SvcMessagesFailed'),
    group(messages('0+1x180', '0+2x180'), 'SvcMessagesFailed'),
    group(backups('500x180', '0x180'), 'SvcBackupOld', {}),
    group(backups('1000x180', '0x180'), 'SvcBackupOld'),
    // Never, since the time 0; and never, but known since a little while only.
    group(backups('_x180', '0+60x180'), 'SvcBackupOld', {}),
    group(backups('_x180', '0x180'), 'SvcBackupOld'),
    // A server that Prometheus does not know of at all.
    group([], 'SvcDown', { job: 'svc' }),
  ];
  // Annotations are texts with values in them; what is compared is whether and with which labels an alert fires.
  const plain = join(place, 'alerts.yml');
  writeFileSync(plain, text.replace(/^ {8}annotations:\n(?: {10}.*\n)+/gm, ''));
  const file = join(place, 'tests.yml');
  writeFileSync(file, JSON.stringify({ rule_files: [plain], evaluation_interval: '1m', tests }));
  await run(promtool, ['test', 'rules', file]);
});

test('Prometheus scrapes a server, keeps its labels, finds nothing to warn of, and fires when a job is overdue', async (t) => {
  const program = find(t, 'prometheus');
  if (program === undefined) return;
  const target = await startAppliance();
  await aUser(target);
  await target.appliance.features.jobs.run('sessions.expire');
  const config = join(place, 'prometheus.yml');
  const scrape = { job_name: 'svc', static_configs: [{ targets: [new URL(target.origin).host] }] };
  // The same rules without the minutes that they wait.
  const impatient = join(place, 'impatient.yml');
  writeFileSync(
    impatient,
    readFileSync(rules, 'utf8')
      .replace(/^ +for: .*\n/gm, '')
      .replace(/- name: (.*)/g, '- name: $1-impatient'),
  );
  const settings = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: [scrape],
    rule_files: [rules, impatient],
  };
  writeFileSync(config, JSON.stringify(settings));
  const address = `127.0.0.1:${await freePort()}`;
  const running = spawn(
    program,
    [`--config.file=${config}`, `--storage.tsdb.path=${join(place, 'data')}`, `--web.listen-address=${address}`],
    { stdio: 'ignore' },
  );
  t.after(() => running.kill('SIGKILL'));
  const ask = async (path: string) => {
    const answer = await fetch(`http://${address}/api/v1/${path}`).catch(() => undefined);
    return answer?.ok ? ((await answer.json()) as { data: { result?: Series[]; groups?: Group[] } }).data : undefined;
  };
  const query = async (expression: string) =>
    (await ask(`query?query=${encodeURIComponent(expression)}`))?.result ?? [];
  const series = 'svc_cron_seconds_since_success{name="sessions.expire"}';
  for (let tries = 0; tries < 300 && (await query(series)).length === 0; tries++) await sleep(100);
  const [found] = await query(series);
  assert.deepEqual([found?.metric.job, found?.metric.name], ['svc', 'sessions.expire']);
  assert.deepEqual(await query('{__name__=~"svc_.+",exported_job!=""}'), []);
  const evaluated = () => ask('rules').then((data) => data?.groups?.flatMap((one) => one.rules) ?? []);
  // The first evaluation may come before the first scrape.
  const settled = async () => {
    const all = await evaluated();
    return all.length > 0 && all.every(({ health, state }) => health === 'ok' && state === 'inactive');
  };
  for (let tries = 0; tries < 300 && !(await settled()); tries++) await sleep(100);
  const states = await evaluated();
  assert.ok(states.length > 8);
  for (const { name, state, health } of states) assert.deepEqual([name, state, health], [name, 'inactive', 'ok']);
  // Longer than the alert allows, without a success.
  target.clock.advance(11 * 60_000);
  const overdue = async () =>
    (await evaluated())
      .filter(({ name, state }) => name === 'SvcJobOverdue' && state === 'firing')
      .flatMap(({ alerts }) => alerts.map(({ labels }) => [labels.name, labels.job]));
  for (let tries = 0; tries < 300 && (await overdue()).length === 0; tries++) await sleep(100);
  assert.deepEqual(await overdue(), [['sessions.expire', 'svc']]);
});

interface Series {
  readonly metric: Readonly<Record<string, string>>;
}
interface Group {
  readonly rules: readonly Rule[];
}
interface Rule {
  readonly name: string;
  readonly state: string;
  readonly health: string;
  readonly alerts: readonly { readonly labels: Readonly<Record<string, string>> }[];
}
