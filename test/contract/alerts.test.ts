// templates/grafana against docs/monitoring.md: metrics and labels that exist, and each alert explained.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { code, codes, readTable } from '../harness/markdown.js';

const rules = readFileSync(join(root, 'templates/grafana/alerts.yml'), 'utf8');
const dashboard = JSON.parse(readFileSync(join(root, 'templates/grafana/dashboard.json'), 'utf8')) as {
  panels: { title: string; targets: { expr: string; legendFormat: string }[] }[];
};

/** Labels of our metrics, by their names, as the page lists them. */
const tableOf = (head: string) =>
  readTable('docs/monitoring.md', head).map(([name, , labels = '']): [string, string[]] => [code(name), codes(labels)]);
const metrics = new Map(tableOf('metric'));
const ofStandby = new Map(tableOf('metric of the standby'));
/** Labels that Prometheus adds. */
const added = ['instance', 'job', 'le'];
const suffixes = /_(?:bucket|sum|count)$/;

function labelsOf(name: string): string[] | undefined {
  return metrics.get(name) ?? metrics.get(name.replace(suffixes, '')) ?? ofStandby.get(name);
}

/** What is wrong with an expression: metrics that do not exist, and labels that they do not have. */
function problemsOf(expression: string): string[] {
  const named = [...expression.matchAll(/\b((?:svc|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)];
  if (named.length === 0) return [`no metric in ${expression}`];
  const known = named.flatMap(([, name = '']) => labelsOf(name) ?? []);
  const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
  return [
    ...named.flatMap(([, name = '', selector = '']) => {
      if (name === 'up' || /^(?:process|nodejs)_/.test(name)) return [];
      const labels = labelsOf(name);
      if (labels === undefined) return [`there is no metric ${name}`];
      const selected = [...selector.matchAll(/(\w+)=/g)].map(([, label = '']) => label);
      return selected
        .filter((label) => ![...labels, ...added].includes(label))
        .map((label) => `${name} has no ${label}`);
    }),
    ...grouped.filter((label) => ![...known, ...added].includes(label)).map((label) => `nothing has ${label}`),
  ];
}

test('alerts and panels ask for metrics and labels that there are', () => {
  const alerts = [...rules.matchAll(/^ {8}expr: (.*)$/gm)].map(([, expression = '']) => expression);
  const panels = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.ok(alerts.length > 8 && panels.length > 15);
  for (const expression of [...alerts, ...panels]) assert.deepEqual(problemsOf(expression), [], expression);
  // The check finds what it looks for.
  assert.deepEqual(problemsOf('svc_cron_seconds_since_success{job_name="x"} > 1'), [
    'svc_cron_seconds_since_success has no job_name',
  ]);
  assert.deepEqual(problemsOf('rate(svc_nothing_total[5m])'), ['there is no metric svc_nothing_total']);
  assert.deepEqual(problemsOf('sum by (color) (svc_db_up)'), ['nothing has color']);
});

test('every metric of the page stands in a panel or an alert', () => {
  const asked = [rules, ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))].join('\n');
  const watched = [...metrics.keys()].filter((name) => asked.includes(name ?? ''));
  const left = [...metrics.keys()].filter((name) => !watched.includes(name));
  // What a person looks up once an alert has fired.
  assert.deepEqual(left, [
    'svc_list_scan_duration_seconds',
    'svc_cron_runs_total',
    'svc_cron_run_duration_seconds',
    'svc_cron_lease_held',
  ]);
});

test('the page explains every alert', () => {
  const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name);
  assert.deepEqual(
    readTable('docs/monitoring.md', 'alert').map(([name]) => code(name)),
    alerts,
  );
});
