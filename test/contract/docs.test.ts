// The tables of docs/ against the code: every row is true, and nothing is left out.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAppliance } from '#src/appliance.js';
import { findingLevels } from '#src/cli/doctor/finding.js';
import { exitCodes } from '#src/cli/terminal/exit.js';
import { scopes } from '#src/contract/actor.js';
import { errorCatalog } from '#src/contract/errors.js';
import { events } from '#src/contract/events.js';
import * as limits from '#src/contract/limits.js';
import { projectSettings } from '#src/contract/project.js';
import { attributeTypes } from '#src/features/data/databases/model/attribute-types.js';
import { createScanMetrics } from '#src/features/data/documents/scans/metrics.js';
import { createAuditMetrics } from '#src/features/events/audit/sealing/metrics.js';
import { createReaderGauge } from '#src/features/events/feed/metrics.js';
import { createRealtimeMetrics } from '#src/features/events/realtime/sockets/metrics.js';
import { createDeliveryMetrics } from '#src/features/events/webhooks/deliveries/metrics.js';
import { createKeyAge } from '#src/features/identity/signing-keys/jobs.js';
import { createCertificateExpiry } from '#src/features/installation/certificate/index.js';
import { createMessageMetrics } from '#src/features/installation/courier/sending/metrics.js';
import { createJobMetrics } from '#src/features/installation/jobs/metrics.js';
import { createBackupMetrics } from '#src/features/operations/backup/metrics.js';
import { loadConfig } from '#src/platform/config/load.js';
import { type Setting, settings } from '#src/platform/config/schema.js';
import { conditions } from '#src/platform/db/conditions.js';
import { createMetrics } from '#src/platform/runtime/metrics.js';
import { root } from '../harness/checkout.js';
import { code, codes, readTable, readTables } from '../harness/markdown.js';

const bySorting = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row)).sort();
const same = (documented: unknown[][], actual: unknown[][]) =>
  assert.deepEqual(bySorting(documented), bySorting(actual));
/** How a default is printed: nothing where the setting is optional, the word none for an empty list. */
const printed = (fallback: string | null) => (fallback === null ? '' : fallback === '' ? 'none' : `\`${fallback}\``);

test('errors.md lists the catalog', () => {
  const rows = readTable('docs/errors.md', 'type');
  same(
    rows.map(([type, status, message]) => [code(type), Number(status), message]),
    Object.entries(errorCatalog).map(([type, { status, message }]) => [type, status, message]),
  );
  for (const [type, , , advice] of rows) assert.ok(advice, type);
});

test('events.md lists every recorded change', () => {
  same(
    readTable('docs/events.md', 'event').map(([name, announced, , personal]) => [
      code(name),
      announced,
      ...codes(personal),
    ]),
    Object.entries(events).map(([name, { announced, personal }]) => [name, announced ? 'yes' : 'no', ...personal]),
  );
});

test('documents.md lists the types of attributes', () => {
  same(
    readTable('docs/documents.md', 'type').flatMap(([types]) => codes(types).map((type) => [type])),
    Object.values(attributeTypes).map(({ path }) => [path]),
  );
});

test('settings.md lists the settings of the installation', () => {
  const actual = Object.values(settings).map(({ key, fallback }) => [key, printed(fallback)]);
  same(
    readTable('docs/settings.md', 'setting').map(([key, fallback]) => [code(key), fallback]),
    actual,
  );
});

test('settings.md lists the settings of a project', () => {
  same(
    readTable('docs/settings.md', 'key').map(([key, fallback]) => [code(key), code(fallback)]),
    Object.entries(projectSettings.parse({})).map(([key, fallback]) => [key, String(fallback)]),
  );
});

/** Tries a cell like "1 to 365, `null`" or "`on`, `off`": what it says is accepted, what lies beside it is not. */
function tryValues(name: string, cell: string, accepts: (text: string) => boolean): void {
  const [, low, high] = /^(\d+) to (\d+)/.exec(cell)?.map(Number) ?? [];
  const isComplete = /^(\d+ to \d+)?((, )?`[^`]+`)*$/.test(cell);
  if (low !== undefined && high !== undefined) {
    const tried = [low - 1, low, high, high + 1].map((value) => accepts(String(value)));
    assert.deepEqual(tried, [false, true, true, false], name);
  }
  if (!isComplete) return;
  for (const value of codes(cell)) assert.ok(accepts(value), `${name} ${value}`);
  assert.ok(!accepts('something-else'), name);
}

test('the values in settings.md are accepted, and their neighbours refused', () => {
  for (const [key, , values = ''] of readTable('docs/settings.md', 'setting')) {
    const setting: Setting | undefined = Object.values(settings).find((one) => one.key === code(key));
    if (setting) tryValues(setting.key, values, (text) => setting.schema.safeParse(text).success);
  }
  for (const [key, , values = ''] of readTable('docs/settings.md', 'key')) {
    const value = (text: string) => (/^(-?\d+|true|false|null)$/.test(text) ? JSON.parse(text) : text);
    tryValues(code(key), values, (text) => projectSettings.safeParse({ [code(key)]: value(text) }).success);
  }
});

const backupCron = '7 7 3 * * *';

/** The service over a database that has nothing in it, not even tables. */
async function anAppliance() {
  const dir = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  const environment = { SVC_DATA_DIR: dir, SVC_LOG_LEVEL: 'error', SVC_BACKUP_CRON: backupCron };
  const { config } = loadConfig({ file: join(dir, 'none.env'), environment, needsMasterKey: false });
  const appliance = await createAppliance(config);
  const dispose = async () => {
    await appliance.close();
    rmSync(dir, { recursive: true, force: true });
  };
  return { appliance, dispose };
}

test('jobs.md lists the jobs', async () => {
  const { appliance, dispose } = await anAppliance();
  await appliance.runtime.migrator.up();
  const jobs = await appliance.features.jobs.list();
  await dispose();
  const runners = { process: 'every process', database: 'one process' };
  same(
    readTable('docs/jobs.md', 'job').map(([name, schedule, runBy]) => [code(name), code(schedule), runBy]),
    jobs.map(({ name, schedule, lease }) => [
      name,
      schedule === backupCron ? 'SVC_BACKUP_CRON' : schedule,
      runners[lease],
    ]),
  );
});

test('scopes.md lists the scopes and what each opens', async () => {
  const { appliance, dispose } = await anAppliance();
  await appliance.runtime.migrator.up();
  const time = '2026-01-01T00:00:00.000Z';
  const project = { id: 'p', name: 'P', dataKey: '', createdAt: time, updatedAt: time, hostnames: [], apps: [] };
  const { paths } = (await appliance.describe({ ...project, settings: projectSettings.parse({}) })) as {
    paths: Record<string, Record<string, { 'x-scopes'?: string[] }>>;
  };
  await dispose();
  const named = Object.entries(paths).filter(([path]) => !path.startsWith('/tablesdb'));
  const operations = named.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      scopes: operation['x-scopes'] ?? [],
    })),
  );
  const rows = readTable('docs/scopes.md', 'scope');
  assert.deepEqual(rows.map(([scope]) => code(scope)).sort(), [...scopes].sort());
  const collection = '/databases/{databaseId}/collections/{collectionId}';
  for (const [scope, opens] of rows) {
    const documented = codes(opens).map((one) => one.replace('…', collection));
    const actual = operations.filter((operation) => operation.scopes.includes(code(scope))).map(({ name }) => name);
    assert.deepEqual([...new Set(actual.map(withoutType))].sort(), documented.sort(), scope);
  }
});

/** Attributes have a route for each type; the table speaks of all of them at once. */
function withoutType(operation: string): string {
  return operation.replace(/(?<=^(POST|PATCH) .*\/attributes\/)\w+/, '{type}');
}

test('limits.md lists the rates of every class', () => {
  const { limitClasses } = limits;
  same(
    readTable('docs/limits.md', 'class').map(([name, per, count, seconds]) => [
      ...[code(name), code(per)],
      ...[Number(count), Number(seconds)],
    ]),
    Object.entries(limitClasses).flatMap(([name, { summary: _, ...rates }]) =>
      Object.entries(rates).map(([per, { count, seconds }]) => [name, per, count, seconds]),
    ),
  );
});

test('sizes.md lists every size and time', () => {
  const { limitClasses: _, ...others } = limits;
  same(
    readTables('docs/sizes.md', 'name').map(([name, number]) => [code(name), Number(number)]),
    Object.entries(others).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, value]] : Object.entries(value).map(([part, n]) => [`${name}.${part}`, n]),
    ),
  );
});

/** Groups of the table of sizes that a caller can multiply: each of their bounds stands in a product. */
const multiplied = [
  'queryBounds',
  'schemaLimits',
  'permissionLimits',
  'projectLimits',
  'bodyRoom',
  'jsonLimits',
  'serverLimits',
];
/** These bound nothing by themselves. */
const single = ['bodyRoom.retrySeconds'];

test('decisions/bounds.md bounds every product of sizes by existing limits, settings and tests', () => {
  const rows = readTable('docs/decisions/bounds.md', 'product');
  const parts = (group: string) => Object.keys(Object.entries(limits).find(([name]) => name === group)?.[1] ?? {});
  const isLimit = (name: string) => {
    const [group = '', part = ''] = name.split('.');
    return part === '' ? group in limits : parts(group).includes(part);
  };
  const isSetting = (name: string) =>
    Object.values(settings).some(({ key }) => key === name) || name in projectSettings.shape;
  for (const [product = '', bound, shown] of rows) {
    for (const name of codes(bound)) assert.ok(isLimit(name) || isSetting(name), `${product}: there is no ${name}`);
    assert.ok(bound !== '' && existsSync(join(root, code(shown))), `${product}: there is no ${shown}`);
  }
  const named = rows.flatMap(([, bound]) => codes(bound));
  const all = multiplied.flatMap((group) => parts(group).map((part) => `${group}.${part}`));
  assert.deepEqual(
    all.filter((name) => !named.includes(name) && !single.includes(name)),
    [],
  );
});

/** The metrics after a sample of each. */
function renderSamples(): Promise<string> {
  const metrics = createMetrics();
  metrics.request('GET', 'a', 200, 1);
  metrics.failure('a');
  metrics.unit('write', 'ok', 1);
  metrics.databaseUp(true);
  metrics.hashQueue(1, 1);
  metrics.egress('a', 'ok');
  const jobs = createJobMetrics({ metrics });
  jobs.run('a', 'ok', 1);
  jobs.state([{ name: 'a', secondsSinceSuccess: 1, isHeld: true }]);
  const deliveries = createDeliveryMetrics({ metrics });
  deliveries.attempt('ok', 1);
  deliveries.backlog(1, 1, 1);
  createReaderGauge({ metrics }, () => 1);
  const sockets = createRealtimeMetrics({ metrics });
  sockets.opened();
  sockets.sent();
  sockets.closed(1000);
  createScanMetrics({ metrics })(1);
  const { unsealed, oldest, headAge } = createAuditMetrics({ metrics });
  for (const gauge of [unsealed, oldest, headAge]) gauge.set(1);
  createCertificateExpiry({ metrics }).set(1);
  createBackupMetrics({ metrics });
  createKeyAge(metrics).set({ alg: 'a' }, 1);
  const messages = createMessageMetrics({ metrics });
  messages.outcome('email', 'sent', 1);
  messages.backlog([{ channel: 'email', waiting: 1, oldestSeconds: 1 }]);
  return metrics.render();
}

/** The names, types and help texts, by name. */
const published = [
  'counter svc_http_requests_total Requests answered',
  'histogram svc_http_request_duration_seconds Time from the first byte of a request to its answer',
  'counter svc_http_errors_total Error answers by type',
  'histogram svc_db_unit_duration_seconds Units of work (write) and snapshots (read)',
  'gauge svc_db_up 1 while the database answers',
  'gauge svc_db_writable 1 while the database takes writes',
  'gauge svc_hash_queue Password hashes',
  'gauge svc_memory_limit_bytes Memory that this process may use: the limit of its cgroup, else the memory of the machine',
  'counter svc_egress_requests_total Outbound HTTP calls',
  'counter svc_list_scans_total Slow lists of documents that no index serves',
  'histogram svc_list_scan_duration_seconds Time such a list took in the database',
  'counter svc_cron_runs_total Runs of jobs by this process',
  'histogram svc_cron_run_duration_seconds Time that runs of jobs by this process took',
  'gauge svc_cron_seconds_since_success Time since the last success of a job in any process, or since the job is known',
  'gauge svc_cron_lease_held 1 while some process runs the job',
  'counter svc_webhook_attempts_total Attempts to deliver an event to a webhook',
  'histogram svc_webhook_attempt_duration_seconds Time an attempt took',
  'gauge svc_webhook_backlog Deliveries that wait or are under way',
  'gauge svc_webhook_oldest_seconds Age of the oldest event that a webhook still waits for',
  'gauge svc_webhook_due_seconds Time for which an event has waited for its number, or a delivery for its turn, where the receiver does not fail',
  'gauge svc_audit_unsealed Entries of the audit log that are not sealed yet',
  'gauge svc_audit_oldest_unsealed_seconds Age of the oldest entry of the audit log that is not sealed yet, 0 where all are',
  'gauge svc_audit_head_age_seconds Age of the signed head of the audit log; it grows while nothing is recorded',
  'gauge svc_feed_readers Requests that wait for events, and streams of them',
  'gauge svc_realtime_sockets Open sockets',
  'counter svc_realtime_messages_total Events sent to sockets',
  'counter svc_realtime_closed_total Closed sockets, by the code of the close',
  'gauge svc_tls_certificate_expiry_timestamp_seconds When the certificate that the server uses expires, in seconds since 1970',
  'gauge svc_signing_key_age_seconds Age of the oldest key that signs JWTs',
  'counter svc_messages_total Attempts to send a mail or an SMS, by what came of the message',
  'gauge svc_messages_backlog Messages that wait',
  'gauge svc_messages_oldest_seconds Age of the oldest message that waits',
  'gauge svc_backup_last_success_timestamp_seconds When the last backup was made, in seconds since 1970',
  'gauge svc_backup_due_timestamp_seconds Since when there should be a newer backup: the scheduled time before the last one, in seconds since 1970',
  'counter svc_backup_failures_total Scheduled backups of this process that failed',
];

test('names, types and help texts of the metrics stay as they are', async () => {
  const lines = (await renderSamples()).split('\n');
  const words = (kind: string) =>
    lines.flatMap((line) => (line.startsWith(`# ${kind} svc_`) ? [line.slice(kind.length + 3)] : []));
  const types = new Map(words('TYPE').map((line) => line.split(' ') as [string, string]));
  const actual = words('HELP').map((line) => `${types.get(line.split(' ')[0] ?? '')} ${line}`);
  assert.deepEqual(actual.sort(), [...published].sort());
});

test('monitoring.md lists the metrics with their labels', async () => {
  const lines = (await renderSamples()).split('\n');
  const actual = lines.flatMap((line) => {
    const [, name = '', type] = /^# TYPE (svc_\S+) (\S+)$/.exec(line) ?? [];
    if (name === '') return [];
    const sample = lines.find((other) => new RegExp(`^${name}(_bucket)?[{ ]`).test(other)) ?? '';
    const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le');
    return [[name, type, ...labels.sort()]];
  });
  same(
    readTable('docs/monitoring.md', 'metric').map(([name, type, labels]) => [
      code(name),
      type,
      ...codes(labels).sort(),
    ]),
    actual,
  );
});

test('troubleshooting.md lists the exit codes', () => {
  same(
    readTable('docs/troubleshooting.md', 'code').map(([number]) => [Number(number)]),
    Object.values(exitCodes).map((number) => [number]),
  );
});

test('cli.md lists the states that a database may report', () => {
  assert.deepEqual(
    readTable('docs/cli.md', 'database error').map(([type, codes, message]) => [code(type), codes, message]),
    conditions.map(({ type, codes, message }) => [type, codes.map((one) => `\`${one}\``).join(', '), message]),
  );
});

test('troubleshooting.md lists what doctor finds', () => {
  const rows = readTable('docs/troubleshooting.md', 'finding');
  same(
    rows.map(([name, level]) => [code(name), level]),
    Object.entries(findingLevels),
  );
  for (const [name, , meaning, fix] of rows) assert.ok(meaning && fix, name);
});

test('monitoring.md lists the events of the log', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  const said = files.flatMap((path) => {
    const text = readFileSync(join(root, 'src', path), 'utf8');
    return [...text.matchAll(/\blog\.(debug|info|warn|error)\(\s*'([^']+)'/g)].map(([, level, event]) => [
      event,
      level,
    ]);
  });
  same(
    readTable('docs/monitoring.md', 'event').map(([event, level]) => [code(event), level]),
    said,
  );
});

test('decisions/README.md lists every decision', () => {
  const listed = readTable('docs/decisions/README.md', 'page').map(([cell]) => /\]\((.+)\)/.exec(cell ?? '')?.[1]);
  const there = readdirSync(join(root, 'docs/decisions')).filter((name) => name !== 'README.md');
  assert.deepEqual(listed.sort(), there.sort());
});

test('performance.md names existing tuned constants in their right files', () => {
  const rows = readTable('docs/performance.md', 'constant');
  assert.ok(rows.length > 20);
  for (const [constants, , files] of rows) {
    for (const file of codes(files)) {
      const text = readFileSync(join(root, file), 'utf8');
      for (const name of codes(constants))
        assert.match(text, new RegExp(`\\b${name.split('.')[0]}\\b`), `${name} in ${file}`);
    }
  }
});
