// The names, types and texts of the measurements are as Prometheus wants them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { lintMetrics } from '../harness/prom-lint.js';

test('promtool has nothing to say of what /metrics answers', async () => {
  const target = await startAppliance();
  const user = await aLoggedInUser(target);
  (await user.client.get('/account')).expect(200);
  (await createClient(target).get('/nothing')).expect(404);
  const { client: key } = await aServerKey(target);
  (await key.post('/webhooks', { name: 'W', url: 'https://example.com', events: ['*'] })).expect(201);
  const { jobs } = target.appliance.features;
  await jobs.run('sessions.expire');
  const { text } = (await createClient(target, { project: null }).get('//metrics')).expect(200);
  assert.deepEqual(lintMetrics(text), []);
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  assert.ok(names.length > 30 && names.includes('svc_http_requests_total'), String(names.length));
  // What was named like a counter is there under its own name, by type.
  assert.ok(names.includes('nodejs_active_handles') && !names.includes('nodejs_active_handles_total'));
});

const metric = (name: string, type: string, ...samples: string[]) =>
  [`# HELP ${name} What it is`, `# TYPE ${name} ${type}`, ...samples].join('\n');
const violations: [string, string, RegExp][] = [
  ['no help', '# TYPE a_total counter\na_total 1', /no help text/],
  ['an empty help', '# HELP a_total \n# TYPE a_total counter\na_total 1', /no help text/],
  ['no type', '# HELP a What\na 1', /type unknown/],
  ['two announcements', `${metric('a_bytes', 'gauge')}\n${metric('a_bytes', 'gauge')}`, /more than once/],
  [
    'a gauge named _total',
    metric('nodejs_active_handles_total', 'gauge', 'nodejs_active_handles_total 3'),
    /named _total/,
  ],
  ['a counter without _total', metric('svc_requests', 'counter', 'svc_requests 3'), /without _total/],
  ['milliseconds', metric('svc_wait_milliseconds', 'gauge'), /base unit seconds/],
  ['minutes', metric('svc_wait_minutes', 'gauge'), /base unit seconds/],
  ['kilobytes', metric('svc_size_kilobytes', 'gauge'), /base unit bytes/],
  ['an abbreviated unit', metric('svc_wait_ms', 'gauge'), /abbreviated unit ms/],
  ['a suffix of histograms', metric('svc_wait_sum', 'gauge'), /suffix _sum/],
  ['a label of histograms', metric('svc_wait', 'gauge', 'svc_wait{le="1"} 1'), /label le/],
  ['a label of summaries', metric('svc_wait', 'gauge', 'svc_wait{quantile="1"} 1'), /label quantile/],
  ['the type in the name', metric('svc_gauge_wait', 'gauge'), /type gauge in the name/],
  ['a colon', metric('svc:wait', 'gauge'), /colon/],
  ['a name in camel case', metric('svc_waitTime', 'gauge'), /snake_case/],
  ['a label in camel case', metric('svc_wait', 'gauge', 'svc_wait{jobName="a"} 1'), /snake_case/],
];
for (const [name, text, problem] of violations) {
  test(`the rules find ${name}`, () => assert.match(lintMetrics(text).join('\n'), problem));
}

test('the rules let a well-made counter, gauge and histogram pass', () => {
  const histogram = ['a_seconds_bucket{le="1"} 1', 'a_seconds_sum 1', 'a_seconds_count 1'];
  const text = [
    metric('a_seconds', 'histogram', ...histogram),
    metric('b_total', 'counter', 'b_total{kind="x"} 1'),
    metric('c_bytes', 'gauge', 'c_bytes 1'),
  ].join('\n');
  assert.deepEqual(lintMetrics(text), []);
});
