import { setTimeout as sleep } from 'node:timers/promises';
import { type Attributes, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace-node';
import { DatabaseError } from '../db/database-error.js';
import { dialectFacts } from '../db/dialect-facts.js';
import type { Connection, Driver } from '../db/driver.js';
import type { Query } from '../db/query.js';
import type { Egress } from '../outbound/egress.js';
import type { Mailer } from '../outbound/mailer.js';
import { version } from '../runtime/version.js';
import type { RequestSpan, TracedRequest, Tracing, TracingReports } from './tracing.js';

const closeMs = 3000;
const tracer = trace.getTracer('svc');

/** Starts the SDK. It sends spans in batches and drops them if the collector does not respond. */
export function startTracing(
  protocol: 'http/protobuf' | 'http/json',
  reports: Pick<TracingReports, 'onFailed' | 'onSent'>,
): Tracing {
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'svc', 'service.version': version() }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [new BatchSpanProcessor(reporting(exporter, reports))],
  });
  provider.register();
  return {
    request: traceRequest,
    driver: traceDriver,
    egress: traceEgress,
    mailer: traceMailer,
    close: () => Promise.race([provider.shutdown().catch(reports.onFailed), sleep(closeMs, undefined, { ref: false })]),
  };
}

/** Reports whether spans arrive. The SDK would only write that to its own log. */
function reporting(exporter: SpanExporter, { onFailed, onSent }: Pick<TracingReports, 'onFailed' | 'onSent'>) {
  const send = exporter.export.bind(exporter);
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error === undefined) onSent();
      else onFailed(result.error);
      done(result);
    });
  return exporter;
}

/** Runs a function as a span that is the child of the current one. */
async function inSpan<T>(
  name: string,
  { kind = SpanKind.CLIENT, attributes }: { kind?: SpanKind; attributes: Attributes },
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.startSpan(name, { kind, attributes });
  try {
    return await context.with(trace.setSpan(context.active(), span), run, undefined, span);
  } catch (error) {
    fail(span, error instanceof DatabaseError ? error.code : error instanceof Error ? error.name : 'error');
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span as failed. Error messages can contain personal data, so only a type is sent. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

async function traceRequest(
  { method, headers, requestId }: TracedRequest,
  run: (span: RequestSpan) => Promise<void>,
): Promise<void> {
  const attributes = { 'http.request.method': method, 'svc.request_id': requestId };
  const parent = propagation.extract(context.active(), headers);
  await context.with(parent, () =>
    inSpan(method, { kind: SpanKind.SERVER, attributes }, (span) =>
      run({
        traceId: span.spanContext().traceId,
        answered: ({ status, path, errorType }) => {
          span.setAttribute('http.response.status_code', status);
          if (path !== undefined) {
            span.updateName(`${method} ${path}`);
            span.setAttribute('http.route', path);
          }
          if (status >= 500) fail(span, errorType ?? String(status));
          else if (errorType !== undefined) span.setAttribute('error.type', errorType);
        },
      }),
    ),
  );
}

function traceDriver(driver: Driver): Driver {
  const system = dialectFacts[driver.dialect].systemName;
  // Without a request to belong to, each poll would create its own trace. Work that a request has started, such as delivering its
  // events, can outlast it.
  const span = <T>(name: string, attributes: Attributes, run: () => Promise<T>): Promise<T> =>
    trace.getActiveSpan()?.isRecording()
      ? inSpan(name, { attributes: { 'db.system.name': system, ...attributes } }, run)
      : run();
  const statement = <T>(query: Query, run: () => Promise<T>) =>
    span(nameOf(query), { 'db.query.text': query.sql }, run);
  // Both databases run a body when it is its turn, which may be within the callback of another request.
  const within = <T>(body: (connection: Connection) => Promise<T>) => {
    const own = context.active();
    const traced = (connection: Connection): Connection => ({
      all: (query) => statement(query, () => connection.all(query)),
      together: (queries) => {
        const attributes = { 'db.operation.batch.size': queries.length };
        return span('batch', attributes, () => connection.together(queries));
      },
      run: (query) => statement(query, () => connection.run(query)),
    });
    return (connection: Connection) => context.with(own, () => body(traced(connection)));
  };
  return {
    ...driver,
    read: (query, reading) => statement(query, () => driver.read(query, reading)),
    snapshot: (body, reading) => span('snapshot', {}, () => driver.snapshot(within(body), reading)),
    transact: (body, until) => span('transaction', {}, () => driver.transact(within(body), until)),
  };
}

/** Such as `select users`. */
function nameOf({ sql }: Query): string {
  const operation = /\w+/.exec(sql)?.[0] ?? 'statement';
  const table = /\b(?:from|into|update)\s+["`]?(\w+)/i.exec(sql)?.[1];
  return table === undefined ? operation : `${operation} ${table}`;
}

/** Receivers of webhooks can continue the trace; identity providers and gateways do not learn of it. */
function traceEgress(egress: Egress): Egress {
  return {
    ...egress,
    request: (call) => {
      const { hostname, protocol, port } = URL.canParse(call.url) ? new URL(call.url) : new URL('invalid:');
      const attributes = {
        'http.request.method': call.method,
        'server.address': hostname,
        'server.port': Number(port || (protocol === 'http:' ? 80 : 443)),
        'svc.purpose': call.purpose,
      };
      return inSpan(`${call.method} ${call.purpose}`, { attributes }, async (span) => {
        const headers = { ...call.headers };
        if (call.purpose === 'webhook') headers.traceparent = traceparentOf(span);
        const response = await egress.request({ ...call, headers });
        span.setAttribute('http.response.status_code', response.status);
        if (response.status >= 400) fail(span, String(response.status));
        return response;
      });
    },
  };
}

/** The only trace header for receivers, because callers control `tracestate` and `baggage`. */
function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}

function traceMailer(mailer: Mailer): Mailer {
  return {
    ...mailer,
    send: (mail) =>
      inSpan('send mail', { kind: SpanKind.PRODUCER, attributes: { 'messaging.system': 'smtp' } }, async (span) => {
        const result = await mailer.send(mail);
        if (!result.ok) fail(span, result.isFinal ? 'refused' : 'failed');
        return result;
      }),
  };
}
