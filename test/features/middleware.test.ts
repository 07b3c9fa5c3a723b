// The application of Koa takes middleware of an operator's own, which works as it does in any other.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Middleware } from 'koa';
import { createApp } from '#src/http/app.js';
import { startAppliance } from '../harness/appliance.js';
import { after } from '../harness/runner.js';

const target = await startAppliance();
const { runtime, features } = target.appliance;
const seen: string[] = [];

const planted: Middleware[] = [
  async (ctx, next) => {
    ctx.set('X-Before', 'planted');
    ctx.vary('X-Planted');
    seen.push(`${ctx.method} ${ctx.path}`);
    await next();
    // Errors pass by here on their way to the envelope.
    ctx.set('Cache-Control', 'private');
    seen.push(`status ${ctx.status}`);
  },
  (ctx, next) => {
    switch (ctx.path) {
      case '/planted/json':
        ctx.status = 203;
        ctx.body = { planted: true };
        return undefined;
      case '/planted/empty':
        ctx.status = 204;
        return undefined;
      case '/planted/thrown':
        return ctx.throw(418, 'planted');
      case '/planted/defect':
        throw new Error('planted');
      default:
        return next();
    }
  },
  async (ctx, next) => {
    await next();
    if (ctx.get('X-Replace') !== '') ctx.body = 'replaced';
  },
];
const server = createServer(createApp(runtime, features, planted).app.callback());
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());

async function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('middleware runs for every request, and its headers stand beside those of the service', async () => {
  const answers = [await ask('/v1/ping'), await ask('/v1/nothing'), await ask('/v1/account')];
  assert.deepEqual(seen.splice(0), ['GET /v1/ping', 'status 200', 'GET /v1/nothing', 'GET /v1/account']);
  assert.deepEqual(
    answers.map(({ headers }) => headers.get('Cache-Control')),
    ['private', 'no-store', 'no-store'],
  );
  for (const { headers } of answers) {
    assert.equal(headers.get('X-Before'), 'planted');
    assert.equal(headers.get('Vary'), 'X-Planted, Origin');
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff');
    assert.match(headers.get('X-Request-Id') ?? '', /./);
  }
  assert.equal(answers[0]?.text, 'Pong!');
  assert.equal(JSON.parse(answers[1]?.text ?? '').type, 'general_route_not_found');
  assert.equal(JSON.parse(answers[2]?.text ?? '').type, 'project_not_found');
});

test('middleware answers by itself', async () => {
  const json = await ask('/planted/json');
  assert.deepEqual([json.status, json.text], [203, '{"planted":true}']);
  assert.equal(json.headers.get('Content-Type'), 'application/json; charset=utf-8');
  assert.equal(json.headers.get('X-Content-Type-Options'), 'nosniff');
  const empty = await ask('/planted/empty');
  assert.deepEqual([empty.status, empty.text], [204, '']);
  const thrown = await ask('/planted/thrown');
  assert.deepEqual([thrown.status, thrown.text], [418, 'planted']);
});

test('middleware replaces the answer of an operation', async () => {
  const { status, text, headers } = await ask('/v1/ping', { 'X-Replace': 'yes' });
  assert.deepEqual([status, text], [200, 'replaced']);
  assert.equal(headers.get('Content-Length'), '8');
});

test('an error of middleware is answered as a defect, and logged without its text', async () => {
  const { status, text } = await ask('/planted/defect', { 'X-Request-Id': 'planted-defect' });
  assert.equal(status, 500);
  assert.equal(JSON.parse(text).type, 'general_unknown');
  const line = target
    .log()
    .split('\n')
    .find((each) => each.includes('request.failed') && each.includes('planted-defect'));
  assert.ok(line !== undefined, 'the error is logged');
});
