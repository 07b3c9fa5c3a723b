// The load process: takes plans over the IPC channel, one at a time, and answers each with its result.
// It runs apart from the servers so that its own CPU time is never counted as theirs.
import { converse } from './connection.js';
import type { GroupResult, LoadGroup, LoadPlan, LoadResult } from './load-plan.js';
import { cpuSeconds } from './process-tree.js';
import { percentile } from './statistics.js';

interface Mark {
  readonly at: number;
  readonly cpu: number;
}

/** Both ends of the counted time lie on an answer, so that slow requests (a hash takes long) are not cut in half. */
class Window {
  private opened: Mark | undefined;
  private closed: Mark | undefined;
  private readonly opensAt: number;
  private readonly plan: LoadPlan;

  constructor(plan: LoadPlan) {
    this.plan = plan;
    this.opensAt = performance.now() + plan.warmupSeconds * 1000;
  }

  get over(): boolean {
    return this.closed !== undefined;
  }

  /** Whether the answer that arrives now is counted; an answer of the leading group moves the window on. */
  count(leads: boolean): boolean {
    const now = performance.now();
    if (this.opened === undefined) {
      if (leads && now >= this.opensAt) this.opened = this.mark(now);
      return false;
    }
    if (this.closed !== undefined) return false;
    if (leads && now >= this.opened.at + this.plan.seconds * 1000) this.closed = this.mark(now);
    return true;
  }

  /** Ends a window that can no longer end by itself. */
  close(): void {
    this.opened ??= this.mark(performance.now());
    this.closed ??= this.mark(performance.now());
  }

  result(groups: GroupResult[]): LoadResult {
    if (this.opened === undefined || this.closed === undefined) throw new Error('the round has not ended');
    const { opened, closed } = this;
    return { seconds: (closed.at - opened.at) / 1000, cpuSeconds: closed.cpu - opened.cpu, groups };
  }

  private mark(at: number): Mark {
    return { at, cpu: cpuSeconds(this.plan.watch) };
  }
}

/** The requests of one of the connections of a group. */
class Turns {
  private readonly group: LoadGroup;
  private turn: number;
  private step = 0;
  /** The id in the first answer of a sequence. */
  private id = '';

  constructor(group: LoadGroup, index: number) {
    this.group = group;
    this.turn = index;
  }

  next(): string | undefined {
    const { requests, sequence = 1, connections } = this.group;
    const request = requests[(this.turn * sequence + this.step) % requests.length]?.replace('{id}', this.id);
    this.step = (this.step + 1) % sequence;
    if (this.step === 0) this.turn += sequence === 1 ? 1 : connections;
    return request;
  }

  answered(start: Buffer): void {
    if (this.group.sequence !== undefined && this.step === 1)
      this.id = /"\$id":"([^"]+)"/.exec(start.toString('latin1'))?.[1] ?? '';
  }

  isExpected(status: number): boolean {
    return this.group.sequence === undefined ? status === this.group.status : status >= 200 && status < 300;
  }
}

async function runGroup(
  ports: readonly number[],
  group: LoadGroup,
  leads: boolean,
  window: Window,
): Promise<GroupResult> {
  const latencies: number[] = [];
  let errors = 0;
  let firstError: string | null = null;
  const failed = (reason: string): void => {
    errors += 1;
    firstError ??= reason;
  };
  const connections = Array.from({ length: group.connections }, (_, index) => {
    const requests = new Turns(group, index);
    const everyMs = group.perSecond === undefined ? 0 : (1000 * group.connections) / group.perSecond;
    let dueAt = performance.now() + (everyMs * index) / group.connections;
    return converse({
      port: ports[index % ports.length] ?? 0,
      pauseMs: () => {
        dueAt += everyMs;
        return everyMs === 0 ? 0 : dueAt - performance.now();
      },
      bytesPerSecond: group.bytesPerSecond,
      next: () => (window.over ? undefined : requests.next()),
      answered: (status, milliseconds, start) => {
        if (!requests.isExpected(status)) failed(`status ${status} instead of ${group.status}`);
        requests.answered(start);
        if (window.count(leads)) latencies.push(milliseconds);
      },
      broken: failed,
    });
  });
  await Promise.all(connections);
  if (leads) window.close();
  latencies.sort((a, b) => a - b);
  return {
    answers: latencies.length,
    errors,
    firstError,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

process.on('message', async (plan: LoadPlan) => {
  const window = new Window(plan);
  const groups = plan.groups.map((group, index) => runGroup(plan.ports, group, index === 0, window));
  process.send?.(window.result(await Promise.all(groups)));
});
process.once('disconnect', () => process.exit(0));
