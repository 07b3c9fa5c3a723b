import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ErrorType } from '#src/contract/errors.js';
import { memoryOfSystem } from './memory.js';

/** The metrics of one process; labels never contain ids. */
export interface Metrics {
  /** Counts an answered request and its duration in seconds. */
  request(method: string, route: string, status: number, seconds: number): void;
  /** Counts an error response by its type. */
  failure(type: string): void;
  /** Counts a unit of work or snapshot and its duration in seconds. */
  unit(kind: 'write' | 'read', outcome: 'ok' | 'failed', seconds: number): void;
  databaseUp(up: boolean): void;
  databaseWritable(isWritable: boolean): void;
  hashQueue(running: number, waiting: number): void;
  /** Counts an outbound call. */
  egress(purpose: string, outcome: 'ok' | 'failed' | 'refused'): void;
  /** Registers a counter, a gauge or a histogram of a feature. */
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: MetricOptions<L>): Gauge<L>;
  histogram<L extends string = never>(options: MetricOptions<L> & { readonly buckets: number[] }): Histogram<L>;
  /** Registers a callback that runs before each rendering, for values that are not counted as they change. If it fails, they stay. */
  beforeRender(measure: () => Promise<void>): void;
  /** Prometheus exposition format 0.0.4. */
  render(): Promise<string>;
}

/** Name, help text and labels of a metric. */
interface MetricOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly L[];
}

/** Buckets of most durations, in seconds. */
export const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Gauges of prom-client that have the names of counters; each is the sum of the gauge of the same name without `_total`. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

type Registering = Pick<Metrics, 'counter' | 'gauge' | 'histogram'>;

/** Creates the registry of one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  const registers = [registry];
  const registering: Registering = {
    counter: (options) => new Counter({ ...options, labelNames: options.labelNames ?? [], registers }),
    gauge: (options) => new Gauge({ ...options, labelNames: options.labelNames ?? [], registers }),
    histogram: (options) => new Histogram({ ...options, labelNames: options.labelNames ?? [], registers }),
  };
  const { counter, gauge, histogram } = registering;
  const requestMetrics = createRequestMetrics(registering);
  const units = histogram({
    name: 'svc_db_unit_duration_seconds',
    help: 'Units of work (write) and snapshots (read)',
    labelNames: ['kind', 'outcome'],
    buckets: durationBuckets,
  });
  const up = gauge({ name: 'svc_db_up', help: '1 while the database answers' });
  const writable = gauge({ name: 'svc_db_writable', help: '1 while the database takes writes' });
  const hashing = gauge({ name: 'svc_hash_queue', help: 'Password hashes', labelNames: ['state'] });
  const memory = gauge({
    name: 'svc_memory_limit_bytes',
    help: 'Memory that this process may use: the limit of its cgroup, else the memory of the machine',
  });
  memory.set(memoryOfSystem());
  const egress = counter({
    name: 'svc_egress_requests_total',
    help: 'Outbound HTTP calls',
    labelNames: ['purpose', 'outcome'],
  });
  const measurements: (() => Promise<void>)[] = [];

  return {
    ...registering,
    ...requestMetrics,
    unit: (kind, outcome, seconds) => units.observe({ kind, outcome }, seconds),
    databaseUp: (isUp) => up.set(isUp ? 1 : 0),
    databaseWritable: (isWritable) => writable.set(isWritable ? 1 : 0),
    hashQueue: (running, waiting) => {
      hashing.set({ state: 'running' }, running);
      hashing.set({ state: 'waiting' }, waiting);
    },
    egress: (purpose, outcome) => egress.inc({ purpose, outcome }),
    beforeRender: (measure) => measurements.push(measure),
    render: async () => {
      for (const measure of measurements) await measure().catch(() => {});
      return registry.metrics();
    },
  };
}

/** Types of errors that alerts watch. */
const watchedErrors: readonly ErrorType[] = ['general_unknown', 'general_unavailable', 'general_query_timeout'];

/** The metrics of requests, first on the page. */
function createRequestMetrics({ counter, histogram }: Registering): Pick<Metrics, 'request' | 'failure'> {
  const requests = counter({
    name: 'svc_http_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
  });
  const latency = histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time from the first byte of a request to its answer',
    labelNames: ['method', 'route'],
    buckets: durationBuckets,
  });
  const failures = counter({
    name: 'svc_http_errors_total',
    help: 'Error answers by type',
    labelNames: ['type'],
  });
  // Series used by alerts exist from the start: Prometheus sees no increase in a series that begins with 1.
  for (const type of watchedErrors) failures.inc({ type }, 0);

  // prom-client finds the child of a labelled metric by hashing its labels. Requests are frequent enough to cache the children.
  type Child = { readonly count: Counter.Internal; readonly time: Histogram.Internal<string> };
  const children = new Map<string, Map<string, Map<number, Child>>>();
  const childOf = (method: string, route: string, status: number): Child => {
    const cached = children.get(route)?.get(method)?.get(status);
    if (cached !== undefined) return cached;
    const child = { count: requests.labels(method, route, String(status)), time: latency.labels(method, route) };
    const methods = children.get(route) ?? new Map<string, Map<number, Child>>();
    const statuses = methods.get(method) ?? new Map<number, Child>();
    children.set(route, methods.set(method, statuses.set(status, child)));
    return child;
  };
  return {
    request: (method, route, status, seconds) => {
      const { count, time } = childOf(method, route, status);
      count.inc();
      time.observe(seconds);
    },
    failure: (type) => failures.inc({ type }),
  };
}
