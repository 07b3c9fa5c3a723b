import { setTimeout as sleep } from 'node:timers/promises';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from './clock.js';
import { DatabaseError, failureOf } from './db/database-error.js';
import type { Lease } from './db/leased-rows.js';
import { createNotice } from './notice.js';
import type { Random } from './random.js';
import { Tally } from './tally.js';
import { nameOf } from './worker.js';

/** Places that become free in a moment are filled together: a claim costs the same for one item and for many. */
const gatherMs = 4;
/** How long the database is left alone before an outcome is recorded that it has refused. */
const recordPauseMs = 500;
/** For how long a process that ends tries to record what the database refuses. */
const recordAtEndMs = 5000;

/** What a queue does with its items. */
interface LeasedWork<I, O> {
  readonly leaseMs: number;
  /** Takes what is due and has room; `busy` tells how many attempts are under way, of one place or of all. */
  claim(leaseAt: (now: Instant) => Lease, busy: (queue?: string) => number): Promise<readonly I[]>;
  /** What attempts compete for: a receiver, a channel. */
  queueOf(item: I): string;
  /** Is made outside of any unit of work. */
  attempt(item: I): Promise<O>;
  /** Records an attempt by its fence. */
  settle(item: I, outcome: O): Promise<void>;
  /** An attempt could not be made, or not be recorded yet: once the lease has ended by itself, the attempt is made again. */
  onTrouble(item: I, error: string): void;
}

/**
 * Works off leased rows: claims what is due, attempts it outside of any unit of work, and records the outcome. A process that dies loses its
 * claims to the others; an attempt that it made before is then made twice. A database that is away does not let that happen: the outcome is
 * recorded when it is back, for as long as the lease lasts, or for a few seconds where the process is to end.
 */
export function createLeasedQueue<I, O>(random: Random, work: LeasedWork<I, O>) {
  const owner = random.id();
  const underWay = new Set<Promise<void>>();
  const notice = createNotice();
  const places = new Tally();
  /** When a process that is to end waits for the database no longer, on the clock of `performance`. */
  let endsAt = Number.POSITIVE_INFINITY;
  const busy = (queue?: string) => (queue === undefined ? places.all : places.of(queue));
  const leaseAt = (now: Instant): Lease => ({ owner, now, until: instantOf(millisecondsOf(now) + work.leaseMs) });

  const tell = (item: I, error: unknown): void => {
    const name = nameOf(error);
    if (notice.isNews(name)) work.onTrouble(item, name);
  };
  const record = async (item: I, outcome: O, until: number): Promise<void> => {
    for (;;) {
      try {
        await work.settle(item, outcome);
        return;
      } catch (error) {
        const isAway = error instanceof DatabaseError && failureOf(error) !== undefined;
        if (!isAway || performance.now() + recordPauseMs >= Math.min(until, endsAt)) throw error;
        tell(item, error);
      }
      await sleep(recordPauseMs);
    }
  };
  /** The place is free as soon as the attempt has ended, before its outcome is recorded. */
  const run = async (item: I, until: number, then: (afterMs: number) => void): Promise<void> => {
    const leave = places.take(work.queueOf(item), 1);
    let outcome: O;
    try {
      outcome = await work.attempt(item);
    } finally {
      leave();
      then(places.all === 0 ? 0 : gatherMs);
    }
    await record(item, outcome, until);
    notice.over();
  };
  return {
    /** Begins as many attempts as there is room for and returns how many; `then` is called as each leaves its place, with how soon it should be filled. */
    begin: async (then: (afterMs: number) => void): Promise<number> => {
      endsAt = Number.POSITIVE_INFINITY;
      const until = performance.now() + work.leaseMs;
      const items = await work.claim(leaseAt, busy);
      for (const item of items) {
        const running = run(item, until, then)
          .catch((error: unknown) => tell(item, error))
          .finally(() => underWay.delete(running));
        underWay.add(running);
      }
      return items.length;
    },
    /** Resolves when nothing is under way; each attempt and its record have their time limits. */
    idle: async (): Promise<void> => {
      endsAt = performance.now() + recordAtEndMs;
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
