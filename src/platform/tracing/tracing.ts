import type { Driver } from '../db/driver.js';
import type { Egress } from '../outbound/egress.js';
import type { Mailer } from '../outbound/mailer.js';

/** A request to this service. */
export interface TracedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly requestId: string;
}

/** The result of a request. */
export interface TracedResponse {
  readonly status: number;
  /** The path with its parameters' names; undefined if no operation matched. */
  readonly path: string | undefined;
  readonly errorType: string | undefined;
}

/** Sends traces of requests and their statements, calls and mails to a collector (OpenTelemetry). */
export interface Tracing {
  /** Runs a request as a span, continuing the trace of its `traceparent` header. The request ends when `run` resolves. */
  request(request: TracedRequest, run: (span: RequestSpan) => Promise<void>): Promise<void>;
  /** The driver with a span for each statement and transaction of a traced request. */
  driver(driver: Driver): Driver;
  egress(egress: Egress): Egress;
  mailer(mailer: Mailer): Mailer;
  /** Sends the spans that wait. Takes at most a few seconds. */
  close(): Promise<void>;
}

/** The span of a request. */
export interface RequestSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  answered(response: TracedResponse): void;
}

/** Reports to the log. */
export interface TracingReports {
  /** Tracing is set up in a way that is not supported, and off. */
  onRefused(reason: string): void;
  /** Spans could not be sent. */
  onFailed(error: unknown): void;
  onSent(): void;
}
