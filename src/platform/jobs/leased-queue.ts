import { setTimeout as sleep } from 'node:timers/promises';
import type { Instant } from '#src/contract/shapes.js';
import { Tally } from '../admission/tally.js';
import type { Random } from '../crypto/random.js';
import { DatabaseError, failureOf } from '../db/database-error.js';
import type { RowLease } from '../db/leased-rows.js';
import { instantOf, millisecondsOf } from '../runtime/clock.js';
import { createNotice, type Notice } from '../runtime/notice.js';
import { retry } from '../runtime/retry.js';
import { nameOf } from './worker.js';

/** Slots that become free within this time are filled by one claim, which costs the same for one item and for many. */
const gatherMs = 4;
/** Pause before an outcome that the database refused is recorded again. */
const recordPauseMs = 500;
/** Longest time that a stopping process retries to record outcomes that the database refuses. */
const recordAtEndMs = 5000;

/** The operations of a leased queue on its items. */
interface LeasedWork<I, O> {
  readonly leaseMs: number;
  /** Claims items that are due and fit the limits; `busy` returns the number of running attempts, of one queue or of all. */
  claim(leaseAt: (now: Instant) => RowLease, busy: (queue?: string) => number): Promise<readonly I[]>;
  /** The queue that an attempt counts towards: a receiver, a channel. */
  queueOf(item: I): string;
  /** Runs outside of any unit of work. */
  attempt(item: I): Promise<O>;
  /** Records the outcome of an attempt, guarded by its fence. */
  recordOutcome(item: I, outcome: O): Promise<void>;
  /** An attempt failed to run, or its outcome is not recorded yet. It is repeated once the lease has expired. */
  onTrouble(item: I, error: string): void;
}

interface Queue<I, O> {
  readonly work: LeasedWork<I, O>;
  readonly underWay: Set<Promise<void>>;
  readonly notice: Notice;
  /** Running attempts of each queue. */
  readonly places: Tally;
  readonly busy: (queue?: string) => number;
  readonly leaseAt: (now: Instant) => RowLease;
  /** Time at which a stopping process stops waiting for the database, on the clock of `performance`. */
  endsAt: number;
}

/** Called when an attempt leaves its slot, with the delay before the slot should be filled. */
type OnLeave = (afterMs: number) => void;

/**
 * Processes leased rows: claims the due ones, attempts them outside of any unit of work, and records the outcome. If a process dies, other
 * processes take over its claims and may repeat an attempt. An unavailable database does not cause that: the outcome is recorded when it is
 * back, while the lease lasts, or for a few seconds if the process is stopping.
 */
export function createLeasedQueue<I, O>(random: Random, work: LeasedWork<I, O>) {
  const owner = random.id();
  const places = new Tally();
  const queue: Queue<I, O> = {
    work,
    underWay: new Set(),
    notice: createNotice(),
    places,
    busy: (name) => (name === undefined ? places.all : places.of(name)),
    leaseAt: (now) => ({ owner, now, until: instantOf(millisecondsOf(now) + work.leaseMs) }),
    endsAt: Number.POSITIVE_INFINITY,
  };
  return {
    /** Starts as many attempts as fit and returns how many. */
    begin: (then: OnLeave): Promise<number> => begin(queue, then),
    /** Resolves when no attempt is running; each attempt and its record have time limits. */
    idle: async (): Promise<void> => {
      queue.endsAt = performance.now() + recordAtEndMs;
      while (queue.underWay.size > 0) await Promise.all(queue.underWay);
    },
  };
}

async function begin<I, O>(queue: Queue<I, O>, then: OnLeave): Promise<number> {
  const { work, underWay } = queue;
  queue.endsAt = Number.POSITIVE_INFINITY;
  const until = performance.now() + work.leaseMs;
  const items = await work.claim(queue.leaseAt, queue.busy);
  for (const item of items) {
    const running = run(queue, item, until, then)
      .catch((error: unknown) => tell(queue, item, error))
      .finally(() => underWay.delete(running));
    underWay.add(running);
  }
  return items.length;
}

/** The slot is free as soon as the attempt has ended, before its outcome is recorded. */
async function run<I, O>(queue: Queue<I, O>, item: I, until: number, then: OnLeave): Promise<void> {
  const { work, places, notice } = queue;
  const leave = places.take(work.queueOf(item), 1);
  let outcome: O;
  try {
    outcome = await work.attempt(item);
  } finally {
    leave();
    then(places.all === 0 ? 0 : gatherMs);
  }
  await record(queue, item, outcome, until);
  notice.over();
}

async function record<I, O>(queue: Queue<I, O>, item: I, outcome: O, until: number): Promise<void> {
  await retry(
    () => queue.work.recordOutcome(item, outcome),
    async (error) => {
      const isAway = error instanceof DatabaseError && failureOf(error) !== undefined;
      if (!isAway || performance.now() + recordPauseMs >= Math.min(until, queue.endsAt)) return false;
      tell(queue, item, error);
      await sleep(recordPauseMs);
      return true;
    },
  );
}

function tell<I, O>({ work, notice }: Queue<I, O>, item: I, error: unknown): void {
  const name = nameOf(error);
  if (notice.isNews(name)) work.onTrouble(item, name);
}
