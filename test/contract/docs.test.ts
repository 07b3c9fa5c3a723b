// The tables of docs/ against the code: every row is true, and nothing is left out.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAppliance } from '#src/appliance.js';
import { exitCodes } from '#src/cli/exit.js';
import { scopes } from '#src/contract/actor.js';
import { errorCatalog } from '#src/contract/errors.js';
import { events } from '#src/contract/events.js';
import * as limits from '#src/contract/limits.js';
import { projectSettings } from '#src/contract/project.js';
import { loadConfig } from '#src/platform/config/load.js';
import { type Setting, settings } from '#src/platform/config/schema.js';
import { createMetrics } from '#src/platform/metrics.js';
import { root } from '../harness/checkout.js';
import { code, codes, readTable } from '../harness/markdown.js';

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

/** The service over a database that has nothing in it, not even tables. */
async function anAppliance() {
  const dir = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  const environment = { SVC_DATA_DIR: dir, SVC_LOG_LEVEL: 'error' };
  const { config } = loadConfig({ file: join(dir, 'none.env'), environment, needsMasterKey: false });
  const appliance = await createAppliance(config);
  const dispose = async () => {
    await appliance.close();
    rmSync(dir, { recursive: true, force: true });
  };
  return { appliance, dispose };
}

test('operations.md lists the jobs', async () => {
  const { appliance, dispose } = await anAppliance();
  await appliance.platform.migrator.up();
  const jobs = await appliance.features.jobs.list();
  await dispose();
  const runners = { process: 'every process', database: 'one process' };
  same(
    readTable('docs/operations.md', 'job').map(([name, schedule, runBy]) => [code(name), code(schedule), runBy]),
    jobs.map(({ name, schedule, lease }) => [name, schedule, runners[lease]]),
  );
});

test('scopes.md lists the scopes and what each opens', async () => {
  const { appliance, dispose } = await anAppliance();
  const time = '2026-01-01T00:00:00.000Z';
  const project = { id: 'p', name: 'P', dataKey: '', createdAt: time, updatedAt: time, hostnames: [] };
  const { paths } = appliance.describe({ ...project, settings: projectSettings.parse({}) }) as {
    paths: Record<string, Record<string, { 'x-scopes'?: string[] }>>;
  };
  await dispose();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
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

test('limits.md lists every size and time', () => {
  const { limitClasses: _, ...others } = limits;
  same(
    readTable('docs/limits.md', 'name').map(([name, number]) => [code(name), Number(number)]),
    Object.entries(others).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, value]] : Object.entries(value).map(([part, n]) => [`${name}.${part}`, n]),
    ),
  );
});

test('operations.md lists the metrics with their labels', async () => {
  const metrics = createMetrics();
  metrics.request('GET', 'a', 200, 1);
  metrics.failure('a');
  metrics.unit('write', 'ok', 1);
  metrics.databaseUp(true);
  metrics.hashQueue(1, 1);
  metrics.egress('a', 'ok');
  metrics.cronRun('a', 'ok', 1);
  metrics.cronJobs([{ job: 'a', secondsSinceSuccess: 1, isHeld: true }]);
  metrics.delivery('ok', 1);
  metrics.signingKeys([{ alg: 'a', ageSeconds: 1 }]);
  metrics.messages('email', 'sent', 1);
  metrics.messageBacklog([{ channel: 'email', waiting: 1, oldestSeconds: 1 }]);
  const lines = (await metrics.render()).split('\n');
  const actual = lines.flatMap((line) => {
    const [, name = '', type] = /^# TYPE (svc_\S+) (\S+)$/.exec(line) ?? [];
    if (name === '') return [];
    const sample = lines.find((other) => new RegExp(`^${name}(_bucket)?[{ ]`).test(other)) ?? '';
    const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le');
    return [[name, type, ...labels.sort()]];
  });
  same(
    readTable('docs/operations.md', 'metric').map(([name, type, labels]) => [
      code(name),
      type,
      ...codes(labels).sort(),
    ]),
    actual,
  );
});

test('operations.md lists the exit codes', () => {
  same(
    readTable('docs/operations.md', 'code').map(([number]) => [Number(number)]),
    Object.values(exitCodes).map((number) => [number]),
  );
});

test('operations.md lists what the log may say', () => {
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
    readTable('docs/operations.md', 'event').map(([event, level]) => [code(event), level]),
    said,
  );
});
