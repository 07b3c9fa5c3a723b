import { type ErrorType, Failure, type FailureOptions } from '#src/contract/errors.js';
import { type EventName, events, type FeedOnlyEvent } from '#src/contract/events.js';
import type { Reading } from '#src/contract/reading.js';
import type { Instant } from '#src/contract/shapes.js';
import { type Clock, instantOf } from '../runtime/clock.js';
import type { Metrics } from '../runtime/metrics.js';
import { retry } from '../runtime/retry.js';
import { DatabaseError, failureOf } from './database-error.js';
import type { Connection, Driver, Insert } from './driver.js';
import type { Announcement, Append, AuditContext, Outbox, Recorded } from './outbox.js';
import type { Query } from './query.js';
import type { Row } from './table.js';
import { longestWaitMs } from './waiting-line.js';
import type { Writability } from './writability.js';

/** Reads rows: the database itself (each query its own snapshot), a snapshot, or a unit of work. */
export interface Reader {
  all(query: Query): Promise<Row[]>;
  /** The first row, if any. */
  one(query: Query): Promise<Row | undefined>;
}

/** A unit of work: its changes are committed together or not at all. The body may only await SQL. */
export interface Unit extends Reader {
  readonly by: AuditContext;
  /** One instant for the whole unit. */
  readonly now: Instant;
  /** Changes rows and returns how many. */
  run(query: Query): Promise<number>;
  /** Runs statements in order and returns the rows of each. None may need the result of another; Postgres gets them in one round trip. */
  together(queries: readonly Query[]): Promise<Row[][]>;
  /** Adds an audit row to the commit, and an event if its type is announced. */
  record<E extends EventName>(event: E, recorded: Recorded<E>): void;
  /**
   * Adds an event of the feed to the commit. If a unit announces the same event about the same resource several times, only the last one
   * counts.
   */
  announce(event: FeedOnlyEvent, announcement: Announcement): void;
  /** Adds a row of an append-only table to the commit. */
  readonly append: Append;
  /** Registers a callback after the commit. Best effort: it may never run. */
  afterCommit(then: () => void): void;
  /**
   * Ends the unit with an error of the catalog, but commits its changes. For example, a wrong password is counted and refused. It throws by
   * itself; write `throw unit.refuse(...)`, so that the compiler sees the end too. Do not catch the error it throws: a unit that continues
   * after its refusal, or throws another error instead, is a defect and is rolled back.
   */
  refuse(type: ErrorType, options?: FailureOptions): never;
}

/** Reads of a database, each with its own snapshot or several in one. */
export interface Reads extends Reader {
  /** Runs several reads in one snapshot. */
  snapshot<T>(body: (snapshot: Reader) => Promise<T>): Promise<T>;
}

/** Reads and units of work over one database. */
export interface Database extends Reads {
  /**
   * Reads for list queries, whose cost is controlled by callers. They use the slots for lists, with a quota per account, and are cancelled
   * when the client is gone. Without a reading none of this applies.
   */
  lists(reading: Reading | undefined): Reads;
  /**
   * Runs a unit of work. Throwing rolls back, except for `unit.refuse`, which commits before its Failure is thrown. The body may run again
   * after a conflict, so it must have no other effects.
   */
  work<T>(by: AuditContext, body: (unit: Unit) => Promise<T>): Promise<T>;
  /** Runs a unit of work, rolls it back, and returns the result of its body. */
  rehearse<T>(by: AuditContext, body: (unit: Unit) => Promise<T>): Promise<T>;
  /**
   * Runs a best-effort write, such as `accessedAt`. It is skipped if the database is read-only, full or locked, so that reads still
   * succeed.
   */
  note(by: AuditContext, body: (unit: Unit) => Promise<void>): Promise<void>;
  /** Registers a listener called after each commit of this process that announced an event (best effort). */
  onAnnounced(listener: () => void): void;
}

const attempts = 3;
/** Another attempt starts only with at least this much time left, because it may have to wait for a connection. */
const leastLeftMs = 2000;
/** If the attempts took longer in total, the unit ends as `busy` instead of with the conflict: locks held it up. */
const metMs = 1000;
/** Every unit may wait at least this long, even if its request has used up its time, such as by a hash between two units. */
const leastWaitMs = 500;
/** Longest wait of a note. */
const noteWaitMs = 500;

/**
 * A unit of work awaited something that is not SQL. This is a defect of the caller; it is detected at once because it blocks every writer.
 */
class IdleUnitError extends Error {
  constructor() {
    super('a unit of work awaited something other than SQL');
    this.name = 'IdleUnitError';
  }
}

/** The error that `unit.refuse` throws. It is not a Failure, so that code which catches failures lets it pass. */
class Refusal extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`a unit of work refuses: ${failure.type}`);
    this.name = 'Refusal';
    this.failure = failure;
  }
}

/** Ends a rehearsal, so that the database rolls it back. */
class Rehearsed<T> extends Error {
  readonly value: T;

  constructor(value: T) {
    super('a unit of work was rehearsed');
    this.name = 'Rehearsed';
    this.value = value;
  }
}

/** A unit of work caught its own refusal: a defect of the caller. Changes meant for a refusal must not be committed as a success. */
class CaughtRefusalError extends Error {
  constructor(refusal: Refusal) {
    super(`a unit of work did not end with its refusal ${refusal.failure.type}`, { cause: refusal });
    this.name = 'CaughtRefusalError';
  }
}

type Body<T> = (unit: Unit) => Promise<T>;

interface Deps {
  readonly driver: Driver;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly writability: Writability;
  /** Calls the listeners of announced events. */
  readonly announced: () => void;
}

/** Builds units of work over a driver. */
export function createDatabase(
  driver: Driver,
  outbox: Outbox,
  clock: Clock,
  metrics: Metrics,
  writability: Writability,
): Database {
  const listeners: (() => void)[] = [];
  const announced = () => {
    for (const listener of listeners) listener();
  };
  const deps: Deps = { driver, outbox, clock, metrics, writability, announced };
  return {
    ...readsOf(driver),
    lists: (reading) => readsOf(driver, reading),
    work: (by, body) => work(deps, by, body, longestWaitMs),
    rehearse: (by, body) => rehearse(deps, by, body),
    note: (by, body) => note(deps, by, body),
    onAnnounced: (listener) => void listeners.push(listener),
  };
}

function readsOf(driver: Driver, reading?: Reading): Reads {
  return {
    all: (query) => driver.read(query, reading),
    one: async (query) => (await driver.read(query, reading))[0],
    snapshot: (body) => driver.snapshot((connection) => body(readerOf(connection)), reading),
  };
}

async function work<T>(deps: Deps, by: AuditContext, body: Body<T>, waitMs: number): Promise<T> {
  const { outcome, then } = await measured(deps, by, body, waitMs);
  for (const next of then) next();
  if (outcome instanceof Refusal) throw outcome.failure;
  return outcome;
}

async function measured<T>(deps: Deps, by: AuditContext, body: Body<T>, waitMs: number): Promise<Done<T>> {
  const { driver, clock, metrics, writability } = deps;
  const started = clock.monotonic();
  const seconds = () => (clock.monotonic() - started) / 1000;
  try {
    const done = await attempt(deps, by, body, waitMs);
    metrics.unit('write', 'ok', seconds());
    if (done.wrote) writability.accepted();
    return done;
  } catch (error) {
    metrics.unit('write', 'failed', seconds());
    if (error instanceof DatabaseError && error.kind === 'notWritable') writability.refused(error.code);
    throw await causeOf(driver, by, error);
  }
}

/** Attempts the unit until it is committed, its time is over, or the error is not a conflict. */
function attempt<T>(deps: Deps, by: AuditContext, body: Body<T>, waitMs: number): Promise<Done<T>> {
  const started = performance.now();
  const until = untilOf(by, started, waitMs);
  return retry(
    () =>
      deps.driver.transact(async (connection) => {
        const done = await runUnit(deps, connection, by, body);
        return { value: done, inserts: done.inserts };
      }, until),
    (error, count) => {
      if (!isConflict(error)) return false;
      const now = performance.now();
      if (count < attempts && now + leastLeftMs < until) return true;
      throw now - started > metMs ? new DatabaseError('busy', error.code) : error;
    },
  );
}

/** Reports a foreign-key error as `project_not_found` if the project is gone or its deletion has begun. */
async function causeOf(driver: Driver, { projectId }: AuditContext, error: unknown): Promise<unknown> {
  if (!(error instanceof DatabaseError && error.kind === 'reference') || projectId === null) return error;
  const place = driver.dialect === 'sqlite' ? '?' : '$1';
  const found = await driver.read({
    sql: `select 1 as one from projects where id = ${place} and not exists (select 1 from project_removals where project_id = projects.id)`,
    values: [projectId],
  });
  return found.length === 0 ? new Failure('project_not_found', { cause: error }) : error;
}

async function rehearse<T>(deps: Deps, by: AuditContext, body: Body<T>): Promise<T> {
  const rehearsed = attempt(
    deps,
    by,
    async (unit) => {
      throw new Rehearsed(await body(unit));
    },
    longestWaitMs,
  );
  return rehearsed.then(
    () => {
      throw new Error('a rehearsal must not be committed');
    },
    (error: unknown) => {
      if (error instanceof Rehearsed) return error.value;
      throw error;
    },
  );
}

async function note(deps: Deps, by: AuditContext, body: Body<void>): Promise<void> {
  if (!deps.writability.isWritable()) return;
  await work(deps, by, body, noteWaitMs).catch((error: unknown) => {
    if (!(error instanceof DatabaseError && failureOf(error) !== undefined)) throw error;
  });
}

/**
 * Deadline of a unit, on the clock of `performance`. The units of a request share its time, which starts at the first call; each gets at
 * least a little of its own. Whoever queues before a unit calls this before queueing, so that the queue counts.
 */
export function untilOf(
  { waits }: Pick<AuditContext, 'waits'>,
  now = performance.now(),
  waitMs = longestWaitMs,
): number {
  if (waits === undefined) return now + waitMs;
  waits.until ??= now + waitMs;
  return Math.min(now + waitMs, Math.max(waits.until, now + leastWaitMs));
}

/** A unit that was committed. */
interface Done<T> {
  readonly outcome: T | Refusal;
  /** True if it is known to have changed something; this proves that the database accepts writes. */
  readonly wrote: boolean;
  readonly inserts: readonly Insert[];
  readonly then: readonly (() => void)[];
}

/** True if another unit was in the way, or the statement was prepared for another schema: the unit may run again. */
function isConflict(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && (error.kind === 'conflict' || error.code === '0A000');
}

function readerOf(connection: Connection): Reader {
  return { all: (query) => connection.all(query), one: async (query) => (await connection.all(query))[0] };
}

/** Runs the body once and collects its rows for the commit. */
async function runUnit<T>(
  { outbox, clock, announced }: Deps,
  connection: Connection,
  by: AuditContext,
  body: Body<T>,
): Promise<Done<T>> {
  const then: (() => void)[] = [];
  const now = instantOf(clock.now());
  const entries = outbox.open(by, now);
  const { watched, idle, done } = watchIdle(connection);
  let wrote = false;
  let refusal = undefined as Refusal | undefined;
  const unit: Unit = {
    ...readerOf(watched),
    by,
    now,
    run: async (query) => {
      const count = await watched.run(query);
      if (count > 0) wrote = true;
      return count;
    },
    together: (queries) => watched.together(queries),
    record: (event, recorded) => {
      entries.record(event, recorded);
      if (events[event].announced && !then.includes(announced)) then.push(announced);
    },
    announce: (event, announcement) => {
      entries.announce(event, announcement);
      if (!then.includes(announced)) then.push(announced);
    },
    append: entries.append,
    afterCommit: (next) => then.push(next),
    refuse: (type, options) => {
      refusal = new Refusal(new Failure(type, options));
      throw refusal;
    },
  };
  const ended = (outcome: T | Refusal): Done<T> => {
    const inserts = entries.inserts();
    return { outcome, wrote: wrote || inserts.length > 0, inserts, then };
  };
  try {
    const value = await Promise.race([body(unit), idle]);
    if (refusal !== undefined) throw new CaughtRefusalError(refusal);
    return ended(value);
  } catch (error) {
    if (refusal === undefined || isConflict(error)) throw error;
    if (error === refusal) return ended(refusal);
    throw error instanceof CaughtRefusalError ? error : new CaughtRefusalError(refusal);
  } finally {
    done();
  }
}

/**
 * Detects a body that waits with no statement running. Continuations of promises run before `setImmediate`, so a body that is still
 * unfinished then, without a running statement, waits for something else.
 */
function watchIdle(connection: Connection): { watched: Connection; idle: Promise<never>; done: () => void } {
  let underWay = 0;
  let over = false;
  let alarm: (error: Error) => void = () => {};
  const idle = new Promise<never>((_, reject) => {
    alarm = reject;
  });
  // If the body fails first, this promise has no other listener.
  idle.catch(() => {});
  const look = () =>
    setImmediate(() => {
      if (over || underWay > 0) return;
      over = true;
      alarm(new IdleUnitError());
    });
  const through = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (over) throw new IdleUnitError();
    underWay += 1;
    try {
      return await ask();
    } finally {
      underWay -= 1;
      if (underWay === 0) look();
    }
  };
  look();
  return {
    watched: {
      all: (query) => through(() => connection.all(query)),
      run: (query) => through(() => connection.run(query)),
      together: (queries) => through(() => connection.together(queries)),
    },
    idle,
    done: () => {
      over = true;
    },
  };
}
