// The pages for developers: whose project has switched them on, and that GraphQL over HTTP is the same beside them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { changeSettings } from '../harness/project.js';

const target = await startAppliance();
const bare = createClient(target, { project: null });
const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const pages = ['/docs?project=main', '/graphql?project=main'];

function requirePage(answer: Answer): void {
  answer.expect(200);
  assert.equal(answer.headers.get('Content-Type'), 'text/html; charset=utf-8');
  assert.equal(answer.headers.get('Cache-Control'), 'no-store');
  const policy = answer.headers.get('Content-Security-Policy') ?? '';
  const nonce = /script-src 'nonce-([\w-]+)';/.exec(policy)?.[1];
  assert.ok(nonce !== undefined && policy.startsWith("default-src 'none';"), policy);
  assert.ok(policy.includes("connect-src 'self';"), policy);
  assert.ok(!/unsafe-eval|script-src[^;]*unsafe|https?:|\*/.test(policy), policy);
  const scripts = answer.text.match(/<script[^>]*>/g) ?? [];
  assert.ok(scripts.length >= 1);
  for (const tag of scripts) assert.match(tag, new RegExp(`^<script nonce="${nonce}" src="docs/assets/[\\w.-]+">$`));
  assert.ok(!/<(?:img|iframe|style)\b|\son\w+=|\sstyle=/.test(answer.text));
}

async function requireNone(of: typeof bare, project = 'main'): Promise<void> {
  for (const page of [`/docs?project=${project}`, `/graphql?project=${project}`]) {
    const shown = (await of.get(page, browser)).expect(404);
    assert.match(shown.text, new RegExp(`svc project update ${project} --set api.reference=true`));
    assert.ok(!shown.text.includes('<script'));
  }
  for (const Accept of ['application/json', '*/*'])
    requireUnrouted(await of.get(`/docs?project=${project}`, { Accept }));
}
const requireUnrouted = (answer: Answer) => answer.refused(404, 'general_route_not_found');

test('on localhost a project has the pages unless it has switched them off', async () => {
  for (const page of pages) requirePage(await bare.get(page, browser));
  requirePage(await bare.get(pages[0] ?? ''));
  for (const page of ['/docs', '/docs?project=', '/docs?project=other', '/docs?project=%00', '/graphql?project=other'])
    (await bare.get(page)).refused(404, 'project_not_found');
  for (const query of ['project=main&project=main', `project=${'x'.repeat(37)}`])
    (await bare.get(`/docs?${query}`)).refused(400, 'general_argument_invalid');
  await changeSettings(target, { 'api.reference': false });
  await requireNone(bare);
  assert.ok(!(await bare.get('/', browser)).text.includes('docs?project=main'));
  await changeSettings(target, { 'api.reference': null });
  const { text } = await bare.get('/', browser);
  for (const page of pages) assert.ok(text.includes(`${page}"`), text);
});

test('elsewhere a project has the pages while it has switched them on', async () => {
  const away = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });
  const client = createClient(away, { project: null });
  await requireNone(client);
  await changeSettings(away, { 'api.reference': true });
  for (const page of pages) requirePage(await client.get(page, browser));
  // Ids of projects are not shown to everybody.
  assert.ok(!(await client.get('/', browser)).text.includes('project=main'));
});

test('a page differs from one request to the next by its nonce only, HEAD has no body, and nothing else is served there', async () => {
  await changeSettings(target, { 'api.reference': true });
  for (const page of pages) {
    const [first, second] = [await bare.get(page, browser), await bare.get(page, browser)];
    const plain = ({ text }: Answer) => text.replaceAll(/nonce="[\w-]+"/g, '');
    assert.notEqual(first.text, second.text);
    assert.equal(plain(first), plain(second));
    const head = await fetch(`${target.origin}/v1${page}`, { method: 'HEAD', headers: browser });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    assert.equal(head.headers.get('Content-Length'), String(Buffer.byteLength(first.text)));
  }
  for (const path of [
    '/docs/layout.html',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/start',
    '/docs/assets/files.json',
  ])
    requireUnrouted(await bare.get(path, browser));
  for (const name of ['LICENSES', 'reference.js', '..%2ffiles.json', 'scalar-000000000000.js'])
    requireUnrouted(await bare.get(`/docs/assets/${name}`));
  (await bare.post('/docs?project=main', {})).refused(405, 'general_method_unsupported');
});

test('the files of a page are compressed, and cached for a year', async () => {
  const names = new Set<string>();
  for (const page of pages)
    for (const [, name = ''] of (await bare.get(page, browser)).text.matchAll(/docs\/assets\/([\w.-]+)"/g))
      names.add(name);
  assert.equal(names.size, 5);
  for (const name of names) {
    assert.match(name, /-[0-9a-f]{12}\.(?:js|css)$/);
    const file = (await bare.get(`/docs/assets/${name}`)).expect(200);
    assert.equal(file.headers.get('Content-Encoding'), 'gzip');
    assert.equal(file.headers.get('Cache-Control'), 'public, max-age=31536000, immutable');
    assert.equal(file.headers.get('X-Content-Type-Options'), 'nosniff');
    assert.match(file.headers.get('Content-Type') ?? '', name.endsWith('.js') ? /^text\/javascript/ : /^text\/css/);
    assert.ok(!/@import|@font-face\s*\{[^}]*https?:/.test(name.endsWith('.css') ? file.text : ''), name);
  }
});

test('the name of a project is text on them', async () => {
  const { runtime, features } = target.appliance;
  const by = { projectId: 'main', actor: { kind: 'operator', id: 'test' }, requestId: 'test' } as const;
  const name = `</title><script>alert('{{nonce}}')</script>`;
  await runtime.db.work(by, (unit) => features.projects.update(unit, 'main', { name }));
  for (const page of pages) {
    const answer = await bare.get(page, browser);
    requirePage(answer);
    assert.ok(answer.text.includes('&lt;script&gt;') && !answer.text.includes('<script>'));
  }
});

test('GraphQL by GET is answered as without the page: with a query, and to clients that do not ask for HTML', async () => {
  const client = createClient(target);
  const query = `/graphql?${new URLSearchParams({ query: '{ __typename }' })}`;
  const letter = 'application/graphql-response+json';
  for (const isOn of [true, false]) {
    await changeSettings(target, { 'api.reference': isOn });
    for (const Accept of [browser.Accept, '*/*', 'application/json', `${letter}, text/html;q=0.5`]) {
      const answer = (await client.get(query, { Accept })).expect(200);
      assert.deepEqual(answer.body, { data: { __typename: 'Query' } }, Accept);
    }
    (await client.get('/graphql?query=', browser)).refused(400, 'graphql_no_query');
    for (const Accept of ['*/*', 'application/json', letter, 'application/json, text/html'])
      (await client.get('/graphql', { Accept })).refused(400, 'graphql_no_query');
  }
});

test('the page of GraphQL counts as a call', async () => {
  const own = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=3/60' } });
  const guest = createClient(own);
  const statuses = [];
  for (let call = 0; call < 5; call++) statuses.push((await guest.get('/graphql', browser)).status);
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
});
