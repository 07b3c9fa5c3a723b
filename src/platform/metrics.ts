import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The measurements of one process; labels never carry ids. */
export interface Metrics {
  /** Counts an answered request and its duration in seconds. */
  request(method: string, route: string, status: number, seconds: number): void;
  /** Counts an error answer by its type. */
  failure(type: string): void;
  /** Counts a unit of work or snapshot and its duration in seconds. */
  unit(kind: 'write' | 'read', outcome: 'ok' | 'failed', seconds: number): void;
  databaseUp(up: boolean): void;
  hashQueue(running: number, waiting: number): void;
  /** Counts an outbound call. */
  egress(purpose: string, outcome: 'ok' | 'failed' | 'refused'): void;
  /** Counts a run of a job and its duration in seconds. */
  cronRun(job: string, outcome: 'ok' | 'failed' | 'interrupted' | 'lost', seconds: number): void;
  /** What the database knows of the jobs of all processes. */
  cronJobs(
    jobs: readonly { readonly job: string; readonly secondsSinceSuccess: number; readonly isHeld: boolean }[],
  ): void;
  /** Counts an attempt to deliver an event and its duration in seconds. */
  delivery(outcome: 'ok' | 'failed', seconds: number): void;
  /** How many deliveries wait, of all processes, and since how many seconds the oldest event does. */
  deliveryBacklog(waiting: number, oldestSeconds: number): void;
  /** How long the keys that sign JWTs have been in use: the oldest of each algorithm over all projects. */
  signingKeys(oldest: readonly { readonly alg: string; readonly ageSeconds: number }[]): void;
  /** Counts messages by what came of an attempt to send them. */
  messages(channel: string, outcome: string, count: number): void;
  /** How many messages wait, of all processes, and since how many seconds the oldest does, by channel. */
  messageBacklog(
    backlog: readonly { readonly channel: string; readonly waiting: number; readonly oldestSeconds: number }[],
  ): void;
  /** Runs before each rendering, to measure what is not counted as it happens. */
  beforeRender(measure: () => Promise<void>): void;
  /** Prometheus exposition format 0.0.4. */
  render(): Promise<string>;
}

const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the registry of one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: 'svc_http_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const latency = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time from the first byte of a request to its answer',
    labelNames: ['method', 'route'],
    buckets: durations,
    registers,
  });
  const failures = new Counter({
    name: 'svc_http_errors_total',
    help: 'Error answers by type',
    labelNames: ['type'],
    registers,
  });
  const units = new Histogram({
    name: 'svc_db_unit_duration_seconds',
    help: 'Units of work (write) and snapshots (read)',
    labelNames: ['kind', 'outcome'],
    buckets: durations,
    registers,
  });
  const up = new Gauge({ name: 'svc_db_up', help: '1 while the database answers', registers });
  const hashing = new Gauge({ name: 'svc_hash_queue', help: 'Password hashes', labelNames: ['state'], registers });
  const egress = new Counter({
    name: 'svc_egress_requests_total',
    help: 'Outbound HTTP calls',
    labelNames: ['purpose', 'outcome'],
    registers,
  });
  const cron = createCronMetrics(registers);
  const deliveries = createDeliveryMetrics(registers);
  const keyAge = new Gauge({
    name: 'svc_signing_key_age_seconds',
    help: 'Age of the oldest key that signs JWTs',
    labelNames: ['alg'],
    registers,
  });
  const messages = createMessageMetrics(registers);
  const measurements: (() => Promise<void>)[] = [];

  // A child of a labelled metric is looked up by hashing its labels; requests come often enough to keep the children at hand.
  type Child = { readonly count: Counter.Internal; readonly time: Histogram.Internal<string> };
  const children = new Map<string, Map<string, Map<number, Child>>>();
  const childOf = (method: string, route: string, status: number): Child => {
    const known = children.get(route)?.get(method)?.get(status);
    if (known !== undefined) return known;
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
    unit: (kind, outcome, seconds) => units.observe({ kind, outcome }, seconds),
    databaseUp: (isUp) => up.set(isUp ? 1 : 0),
    hashQueue: (running, waiting) => {
      hashing.set({ state: 'running' }, running);
      hashing.set({ state: 'waiting' }, waiting);
    },
    egress: (purpose, outcome) => egress.inc({ purpose, outcome }),
    ...cron,
    ...deliveries,
    signingKeys: (oldest) => {
      keyAge.reset();
      for (const { alg, ageSeconds } of oldest) keyAge.set({ alg }, ageSeconds);
    },
    ...messages,
    beforeRender: (measure) => measurements.push(measure),
    render: async () => {
      for (const measure of measurements) await measure();
      return registry.metrics();
    },
  };
}

function createCronMetrics(registers: Registry[]): Pick<Metrics, 'cronRun' | 'cronJobs'> {
  const labelNames = ['job'];
  const runs = new Counter({
    name: 'svc_cron_runs_total',
    help: 'Runs of jobs by this process',
    labelNames: ['job', 'outcome'],
    registers,
  });
  const time = new Histogram({
    name: 'svc_cron_run_duration_seconds',
    help: 'Time that runs of jobs by this process took',
    labelNames,
    buckets: [0.01, 0.1, 1, 10, 60, 600],
    registers,
  });
  const success = new Gauge({
    name: 'svc_cron_seconds_since_success',
    help: 'Time since the last success of a job in any process, or since the job is known',
    labelNames,
    registers,
  });
  const leases = new Gauge({
    name: 'svc_cron_lease_held',
    help: '1 while some process runs the job',
    labelNames,
    registers,
  });
  return {
    cronRun: (job, outcome, seconds) => {
      runs.inc({ job, outcome });
      time.observe({ job }, seconds);
    },
    cronJobs: (jobs) => {
      success.reset();
      leases.reset();
      for (const { job, secondsSinceSuccess, isHeld } of jobs) {
        success.set({ job }, secondsSinceSuccess);
        leases.set({ job }, isHeld ? 1 : 0);
      }
    },
  };
}

function createDeliveryMetrics(registers: Registry[]): Pick<Metrics, 'delivery' | 'deliveryBacklog'> {
  const labelNames = ['outcome'];
  const attempts = new Counter({
    name: 'svc_webhook_attempts_total',
    help: 'Attempts to deliver an event to a webhook',
    labelNames,
    registers,
  });
  const time = new Histogram({
    name: 'svc_webhook_attempt_duration_seconds',
    help: 'Time an attempt took',
    labelNames,
    buckets: [...durations, 15],
    registers,
  });
  const waiting = new Gauge({ name: 'svc_webhook_backlog', help: 'Deliveries that wait or are under way', registers });
  const oldest = new Gauge({
    name: 'svc_webhook_oldest_seconds',
    help: 'Age of the oldest event that a webhook still waits for',
    registers,
  });
  return {
    delivery: (outcome, seconds) => {
      attempts.inc({ outcome });
      time.observe({ outcome }, seconds);
    },
    deliveryBacklog: (count, oldestSeconds) => {
      waiting.set(count);
      oldest.set(oldestSeconds);
    },
  };
}

function createMessageMetrics(registers: Registry[]): Pick<Metrics, 'messages' | 'messageBacklog'> {
  const labelNames = ['channel'];
  const outcomes = new Counter({
    name: 'svc_messages_total',
    help: 'Attempts to send a mail or an SMS, by what came of the message',
    labelNames: [...labelNames, 'outcome'],
    registers,
  });
  const waiting = new Gauge({ name: 'svc_messages_backlog', help: 'Messages that wait', labelNames, registers });
  const oldest = new Gauge({
    name: 'svc_messages_oldest_seconds',
    help: 'Age of the oldest message that waits',
    labelNames,
    registers,
  });
  return {
    messages: (channel, outcome, count) => outcomes.inc({ channel, outcome }, count),
    messageBacklog: (backlog) => {
      waiting.reset();
      oldest.reset();
      for (const { channel, waiting: count, oldestSeconds } of backlog) {
        waiting.set({ channel }, count);
        oldest.set({ channel }, oldestSeconds);
      }
    },
  };
}
