// Traces reach a collector: a request with its statements, the delivery and the mail that follow, and nothing without the variables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { startMailServer } from '../harness/mail-server.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { eventually } from '../webhooks/setup.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code?: number };
}

/** Serves an installation whose traces go to a collector. */
async function serveTraced(env: Record<string, string> = {}) {
  const place = await install();
  after(() => place.dispose());
  const collector = await startReceiver();
  const project = ['--project', 'shop'];
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const scopes = ['--name', 'k', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(['apikey', 'create', ...project, ...scopes]);
  const server = await place.serve([], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=shop',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    SVC_WEBHOOK_ALLOW_INSECURE: 'true',
    ...env,
  });
  const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
  const spans = () =>
    collector.calls
      .map(({ body }) => JSON.parse(String(body)))
      .flatMap(({ resourceSpans }) => resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans: some }) => some as Span[]);
  return { place, server, collector, headers, key: { ...headers, 'X-Service-Key': secret }, spans };
}

const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test('a request and its statements are one trace, which continues that of the caller', async () => {
  const { server, collector, key, spans } = await serveTraced();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const secretName = 'zqx-personal';
  const body = JSON.stringify({ userId: 'unique()', email: `${secretName}@example.com` });
  const created = await fetch(`${server.url}/users?q=${secretName}`, {
    ...{ method: 'POST', headers: { ...key, traceparent }, body },
  });
  assert.equal(created.status, 201);
  await fetch(`${server.url}/users/none`, { headers: { ...key, traceparent } });
  const own = await eventually(() => {
    const found = spans().filter((span) => span.traceId === traceId);
    assert.ok(
      found.some(({ name }) => name === 'GET /users/:userId'),
      JSON.stringify(found.map(({ name }) => name)),
    );
    return found;
  });
  const request = own.find(({ name }) => name === 'POST /users');
  assert.equal(request?.parentSpanId, 'b7ad6b7169203331');
  assert.equal(request?.kind, 2);
  const { 'http.response.status_code': status, 'svc.request_id': id } = attributesOf(request);
  assert.deepEqual([Number(status), id], [201, created.headers.get('x-request-id')]);
  const refused = own.find(({ name }) => name === 'GET /users/:userId') as Span;
  assert.equal(attributesOf(refused)['error.type'], 'user_not_found');
  assert.equal(refused.status.code ?? 0, 0);

  const transaction = own.find(({ name, parentSpanId }) => name === 'transaction' && parentSpanId === request?.spanId);
  const statements = own.filter(({ parentSpanId }) => parentSpanId === transaction?.spanId);
  assert.ok(statements.length > 0);
  const texts = own.map((span) => String(attributesOf(span)['db.query.text'] ?? ''));
  assert.ok(texts.some((text) => text.includes('users')));
  assert.doesNotMatch(JSON.stringify(collector.calls.map(({ body }) => String(body))), new RegExp(secretName));

  const [first] = collector.calls;
  assert.deepEqual([first?.url, first?.headers['x-team']], ['/v1/traces', 'shop']);
  const resource = JSON.parse(String(first?.body)).resourceSpans[0].resource as Pick<Span, 'attributes'>;
  const named = attributesOf(resource as Span);
  assert.deepEqual([named['service.name'], named['deployment.environment']], ['svc', 'test']);
  assert.match(server.log(), new RegExp(`"event":"request".*"traceId":"${traceId}"`));
});

test('deliveries of webhooks carry a trace, and mails have a span', async () => {
  const mail = await startMailServer();
  const { server, headers, key, spans } = await serveTraced({
    SVC_SMTP_URL: `smtp://localhost:${mail.port}`,
    SVC_MAIL_FROM: 'a@example.com',
  });
  const receiver = await startReceiver();
  const webhook = { webhookId: 'w', name: 'w', url: receiver.origin, events: ['sessionCreated'], enabled: true };
  const made = await fetch(`${server.url}/webhooks`, { method: 'POST', headers: key, body: JSON.stringify(webhook) });
  assert.equal(made.status, 201, await made.text());
  await fetch(`${server.url}/account/sessions/anonymous`, { method: 'POST', headers });
  await fetch(`${server.url}/account/tokens/email`, {
    ...{ method: 'POST', headers, body: JSON.stringify({ userId: 'unique()', email: 'ada@example.com' }) },
  });
  const named = (name: string) => spans().find((span) => span.name === name);
  await eventually(() => {
    assert.ok(named('POST webhook'));
    assert.ok(named('send mail'));
  });
  const [, traceId, spanId] = String(receiver.calls[0]?.headers.traceparent).split('-');
  assert.deepEqual([traceId, spanId], [named('POST webhook')?.traceId, named('POST webhook')?.spanId]);
});

test('a collector that is away costs nothing but a line of the log; other protocols are refused in the log', async () => {
  const { place, collector, server, headers } = await serveTraced();
  collector.answer = (response) => response.writeHead(503).end();
  assert.equal((await fetch(`${server.url}/ping`, { headers })).status, 200);
  await eventually(() => assert.match(server.log(), /"event":"tracing\.failed"/));
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
  const other = await place.serve([], { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  assert.match(other.log(), /"event":"tracing\.off"/);
  const off = await place.serve([], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_SDK_DISABLED: 'true' });
  assert.equal((await fetch(`${off.url}/ping`, { headers })).status, 200);
  assert.doesNotMatch(off.log(), /traceId|tracing\./);
});
