import type { Reading } from '#src/contract/reading.js';
import { FairSemaphore } from '../admission/fair-semaphore.js';
import { DatabaseError } from './database-error.js';

const clientGone = 'client_gone';

/** Error for a read that was cancelled because its client is gone. */
export const gone = () => new DatabaseError('timeout', clientGone);

/** True for the error made by `gone`. */
export function isGone(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === clientGone;
}

/** Limits of what runs and waits at once. */
interface SlotBounds {
  readonly places: number;
  /** Most slots of one account, so that some are left for others. */
  readonly perAccount: number;
  readonly waitingOfAccount?: number;
  readonly waiting?: number;
  readonly waitMs?: number;
}

/**
 * Runs a body with a slot of the account of its reading. Throws DatabaseError `lists_waiting` if there is none in time or too many wait, and
 * the error of `gone` if the client is gone.
 */
export type Slots = <T>(reading: Reading, body: () => Promise<T>) => Promise<T>;

/**
 * Creates the slots of list reads, or of similar work. All other reads use separate connections, so they never wait for lists. Accounts are
 * served round-robin, so an account with many reads only delays itself.
 */
export function createSlots({
  places,
  perAccount,
  waitingOfAccount = 256,
  waiting = 1024,
  waitMs = 10_000,
}: SlotBounds): Slots {
  const semaphore = new FairSemaphore({
    all: places,
    ofOwner: perAccount,
    waiting,
    waitingOfOwner: waitingOfAccount,
    waitMs,
    refuse: (why) => (why === 'gone' ? gone() : new DatabaseError('unavailable', 'lists_waiting')),
  });
  return (reading, body) => {
    const start = () => {
      reading.onStarted?.();
      return body();
    };
    return semaphore.use(reading.account, start, { waiter: reading.waiter });
  };
}
