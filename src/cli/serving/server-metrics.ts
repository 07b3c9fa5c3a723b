import type { Config } from '#src/platform/config/schema.js';
import { requestLocally } from './local-request.js';

/** Waiting for events is no slow request, and probes are no requests of users. */
const uncounted = new Set(['events.list', 'operations.health', 'operations.ready', 'operations.metrics']);

/** A series of Prometheus' text format. */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Counters of a server at one moment. */
export interface ServerSample {
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
  readonly requests: number;
  /** Responses of 5xx. */
  readonly failures: number;
  /** Requests of at most so many seconds, by upper bound. */
  readonly durations: ReadonlyMap<number, number>;
  readonly startedAt: number | undefined;
  readonly rssBytes: number | undefined;
  readonly memoryLimitBytes: number | undefined;
  readonly sockets: number;
  readonly deliveries: number | undefined;
  readonly mails: number | undefined;
}

/** Rates between two samples. */
export interface ServerRates {
  readonly requestsPerSecond: number | null;
  readonly p95Ms: number | null;
  readonly errorRate: number | null;
}

/** Reads the metrics of the server on this machine; undefined if none answers. */
export async function sampleServer(config: Config): Promise<ServerSample | undefined> {
  const answer = await requestLocally(config, '/metrics').catch(() => undefined);
  const isOfServer = answer?.status === 200 && answer.text.includes('svc_http_requests_total');
  return isOfServer ? sampleOf(answer.text) : undefined;
}

/** Counters of a server that has just started. */
const atStart = { requests: 0, failures: 0, durations: new Map<number, number>() };

/** The rates of the time between two samples; those of requests are null if no request was answered in between. */
export function ratesBetween(before: ServerSample, after: ServerSample): ServerRates {
  const isRestarted = after.requests < before.requests || before.startedAt !== after.startedAt;
  const seconds = (after.at - before.at) / 1000;
  const from = isRestarted ? atStart : before;
  return {
    requestsPerSecond: seconds > 0 && !isRestarted ? round((after.requests - before.requests) / seconds, 10) : null,
    ...responsesSince(from, after),
  };
}

/** The percentile and the errors since the start of a server. */
export function ratesSinceStart(sample: ServerSample): Omit<ServerRates, 'requestsPerSecond'> {
  return responsesSince(atStart, sample);
}

function responsesSince(from: typeof atStart | ServerSample, to: ServerSample): Omit<ServerRates, 'requestsPerSecond'> {
  const requests = to.requests - from.requests;
  if (requests <= 0) return { p95Ms: null, errorRate: null };
  return {
    p95Ms: percentile(to.durations, from.durations, 0.95),
    errorRate: round((to.failures - from.failures) / requests, 10_000),
  };
}

const round = (value: number, factor: number) => Math.round(value * factor) / factor;

function sampleOf(text: string): ServerSample {
  const all = text.split('\n').flatMap(seriesOf);
  const named = (name: string) => all.filter((one) => one.name === name && !uncounted.has(one.labels.route ?? ''));
  const sum = (series: readonly Series[]) => series.reduce((total, { value }) => total + value, 0);
  const first = (name: string) => named(name)[0]?.value;
  const requests = named('svc_http_requests_total');
  const durations = new Map<number, number>();
  for (const { labels, value } of named('svc_http_request_duration_seconds_bucket')) {
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    durations.set(bound, (durations.get(bound) ?? 0) + value);
  }
  return {
    at: performance.now(),
    requests: sum(requests),
    failures: sum(requests.filter(({ labels }) => labels.status?.startsWith('5'))),
    durations,
    startedAt: first('process_start_time_seconds'),
    rssBytes: first('process_resident_memory_bytes'),
    memoryLimitBytes: first('svc_memory_limit_bytes'),
    sockets: sum(named('svc_realtime_sockets')),
    deliveries: first('svc_webhook_backlog'),
    mails: sum(named('svc_messages_backlog').filter(({ labels }) => labels.channel === 'email')),
  };
}

function seriesOf(line: string): Series[] {
  const [, name, inner = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
  if (name === undefined) return [];
  const labels = [...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text]);
  return [{ name, labels: Object.fromEntries(labels), value: Number(value) }];
}

/** The upper bound of the bucket with the percentile, interpolated, in milliseconds; null without requests. */
function percentile(
  after: ReadonlyMap<number, number>,
  before: ReadonlyMap<number, number>,
  part: number,
): number | null {
  const buckets = [...after].map(([bound, value]) => [bound, value - (before.get(bound) ?? 0)] as const);
  const sorted = buckets.sort(([one], [other]) => one - other);
  const wanted = (sorted.at(-1)?.[1] ?? 0) * part;
  if (wanted === 0) return null;
  let [lower, below] = [0, 0];
  for (const [bound, value] of sorted) {
    if (value >= wanted) {
      const upper = Number.isFinite(bound) ? bound : lower;
      const share = value === below ? 1 : (wanted - below) / (value - below);
      return round((lower + (upper - lower) * share) * 1000, 10);
    }
    [lower, below] = [bound, value];
  }
  return null;
}
