// What whoever runs the installation asks: alive, ready, how much.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance();
// It would count units of its own.
await target.appliance.features.worker.stop();
const bare = createClient(target, { project: null });

test('liveness, readiness and ping answer without any header, at the root and under /v1', async () => {
  for (const base of ['//', '/']) {
    assert.deepEqual((await bare.get(`${base}healthz`)).expect(200).body, { status: 'ok' });
    const ready = (await bare.get(`${base}readyz`)).expect(200);
    assert.deepEqual(ready.body, { status: 'ok', checks: { database: 'ok', writable: true } });
    const pong = (await bare.get(`${base}ping`)).expect(200);
    assert.deepEqual([pong.text, pong.headers.get('Content-Type')], ['Pong!', 'text/plain; charset=utf-8']);
  }
  (await bare.get('//openapi.json')).refused(404, 'project_not_found');
});

test('at / and /v1 the service says that it runs: to browsers with a page, to others with JSON', async () => {
  const empty = await startAppliance();
  const { runtime, features } = empty.appliance;
  const by = { projectId: null, actor: { kind: 'operator', id: 'test' }, requestId: 'test' } as const;
  for (const { id } of await features.projects.list(runtime.db)) await features.projects.remove(by, id);
  for (const [server, hasProject] of [
    [target, true],
    [empty, false],
  ] as const) {
    const client = createClient(server, { project: null });
    for (const path of ['//', '/', '//v1']) {
      const { body } = (await client.get(path)).expect(200);
      assert.deepEqual(Object.keys(body).sort(), ['endpoint', 'hasProject', 'name', 'version']);
      assert.deepEqual([body.name, body.hasProject], ['svc', hasProject]);
      const page = (await client.get(path, { Accept: 'text/html,*/*;q=0.8' })).expect(200);
      assert.match(page.headers.get('Content-Type') ?? '', /^text\/html/);
      assert.ok(page.text.includes(String(body.endpoint)) && page.text.includes(String(body.version)));
      assert.equal(page.text.includes('svc project create'), !hasProject);
    }
  }
  const off = createClient(await startAppliance({ settings: { SVC_START_PAGE: 'false' } }), { project: null });
  for (const path of ['//', '/']) (await off.get(path)).refused(404, 'general_route_not_found');
});

const promised: [string, string][] = [
  ['svc_http_requests_total', 'counter'],
  ['svc_http_request_duration_seconds', 'histogram'],
  ['svc_http_errors_total', 'counter'],
  ['svc_db_unit_duration_seconds', 'histogram'],
  ['svc_db_up', 'gauge'],
  ['svc_hash_queue', 'gauge'],
  ['svc_egress_requests_total', 'counter'],
  ['svc_webhook_attempts_total', 'counter'],
  ['svc_webhook_backlog', 'gauge'],
  ['svc_webhook_oldest_seconds', 'gauge'],
  ['process_cpu_seconds_total', 'counter'],
];

test('metrics come in the Prometheus exposition format with the promised names', async () => {
  const answer = (await bare.get('//metrics')).expect(200);
  assert.match(answer.headers.get('Content-Type') ?? '', /^text\/plain; version=0\.0\.4\b/);
  for (const [name, type] of promised) assert.ok(answer.text.includes(`# TYPE ${name} ${type}\n`), name);
  for (const line of answer.text.split('\n').filter((one) => one !== '' && !one.startsWith('#')))
    assert.match(line, /^[a-z_][a-z0-9_]*(\{[^}]*\})? (\d[\d.e+-]*|NaN|\+Inf|-?\d+)$/i);
  assert.match(answer.text, /^svc_db_up 1$/m);
});

async function value(sample: string): Promise<number> {
  const { text } = await bare.get('//metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? 0 : Number(line.slice(sample.length + 1));
}

test('what happens is counted', async () => {
  const samples = [
    'svc_http_requests_total{method="GET",route="account.get",status="200"}',
    'svc_http_requests_total{method="GET",route="account.get",status="401"}',
    'svc_http_requests_total{method="GET",route="none",status="404"}',
    'svc_http_errors_total{type="general_unauthorized_scope"}',
    'svc_http_errors_total{type="general_route_not_found"}',
    'svc_http_request_duration_seconds_count{method="GET",route="account.get"}',
    'svc_db_unit_duration_seconds_count{kind="write",outcome="ok"}',
    'svc_db_unit_duration_seconds_count{kind="write",outcome="failed"}',
  ];
  const { client } = await aLoggedInUser(target);
  const before = await Promise.all(samples.map(value));
  (await client.get('/account')).expect(200);
  (await createClient(target).get('/account')).expect(401);
  (await client.get('/nothing')).expect(404);
  (await client.patch('/account/name', { name: 'Counted' })).expect(200);
  const after = await Promise.all(samples.map(value));
  assert.deepEqual(
    after.map((now, index) => now - (before[index] ?? 0)),
    [1, 1, 1, 1, 1, 2, 1, 0],
  );
});

test('a unit of work that commits and refuses is counted once, as the success that it was', async () => {
  const count = (outcome: string) => value(`svc_db_unit_duration_seconds_count{kind="write",outcome="${outcome}"}`);
  const before = [await count('ok'), await count('failed')];
  const wrong = { email: 'nobody@mail.example', password: 'a wrong one' };
  (await createClient(target).post('/account/sessions/email', wrong)).expect(401);
  // One for the address, one for the account, one for the refusal.
  assert.deepEqual([await count('ok'), await count('failed')], [(before[0] ?? 0) + 3, before[1]]);
});

test('labels hold no ids, whatever is asked for', async () => {
  const user = await aLoggedInUser(target);
  (await user.client.get(`/account/sessions/${user.sessionId}`)).expect(200);
  (await user.client.get('/account/sessions/11112222333344445555')).expect(404);
  (await user.client.get('/unmistakable-path')).expect(404);
  await bare.request('PROPFIND', '/account');
  (await bare.get('/account', { 'X-Service-Project': 'unmistakable-project' })).expect(404);
  const { text } = await bare.get('//metrics');
  for (const secret of [user.id, user.sessionId, user.email, '1111222', 'unmistakable', 'PROPFIND', 'main'])
    assert.ok(!text.includes(secret), secret);
  const routes = new Set([...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route));
  const declared = target.appliance.features.operations.map(({ declaration }) => declaration.id);
  const known = [
    ...declared,
    'none',
    ...['health', 'ready', 'metrics', 'openapi', 'ping', 'start'].map((id) => `operations.${id}`),
  ];
  assert.deepEqual(
    [...routes].filter((route) => !known.includes(route ?? '')),
    [],
  );
});
