import { type ErrorType, Failure, type FailureOptions } from '#src/contract/errors.js';
import { type EventName, events, type FeedOnlyEvent } from '#src/contract/events.js';
import type { Reading } from '#src/contract/reading.js';
import type { Instant } from '#src/contract/shapes.js';
import { type Clock, instantOf } from '../clock.js';
import type { Metrics } from '../metrics.js';
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

/** A unit of work: everything done through it is committed together or not at all. Only SQL may be awaited inside. */
export interface Unit extends Reader {
  readonly by: AuditContext;
  /** One instant for the whole unit. */
  readonly now: Instant;
  /** Changes rows and returns how many. */
  run(query: Query): Promise<number>;
  /** Runs statements one after the other, none of which needs what another returns; Postgres gets them in one round trip. Returns the rows of each. */
  together(queries: readonly Query[]): Promise<Row[][]>;
  /** Leaves an audit row and, where the event is announced, an event, in the same commit. */
  record<E extends EventName>(event: E, recorded: Recorded<E>): void;
  /** Leaves an event of the feed in the same commit; of several of one name about one thing only the last. */
  announce(event: FeedOnlyEvent, announcement: Announcement): void;
  /** Leaves a row of a table that is only appended to, in the same commit. */
  readonly append: Append;
  /** Runs after the commit. A nudge only: it may never come. */
  afterCommit(then: () => void): void;
  /**
   * Ends the unit with an error of the catalog and keeps everything done in it so far: so a wrong password is counted and refused. It throws by
   * itself; write `throw unit.refuse(...)`, so that the compiler sees the end too. Nobody but the unit may handle what it throws: a unit that goes
   * on after its refusal, or throws another error instead, is a defect and is rolled back.
   */
  refuse(type: ErrorType, options?: FailureOptions): never;
}

/** Reads of a database, each of its own state or several of one. */
export interface Reads extends Reader {
  /** Several reads of one state of the database. */
  snapshot<T>(body: (snapshot: Reader) => Promise<T>): Promise<T>;
}

/** Reads and units of work over one database. */
export interface Database extends Reads {
  /**
   * Reads lists, whose cost callers decide: by the places that lists have, of which each account has its share, and for no longer than somebody
   * waits for the answer. Without a reading it is the database itself.
   */
  lists(reading: Reading | undefined): Reads;
  /**
   * Runs a unit of work. Throwing rolls back, except for `unit.refuse`, which commits before its Failure is thrown.
   * The body may run again when the database asks for it, so it must have no other effects.
   */
  work<T>(by: AuditContext, body: (unit: Unit) => Promise<T>): Promise<T>;
  /** Runs a unit of work, takes back all that it has done, and returns what its body has returned. */
  rehearse<T>(by: AuditContext, body: (unit: Unit) => Promise<T>): Promise<T>;
  /**
   * Runs a unit of work that nobody waits for the result of, such as the time of the last use. Where the database does not take it at once it is
   * left undone, so that readers are served by a database that is read-only, full or locked.
   */
  note(by: AuditContext, body: (unit: Unit) => Promise<void>): Promise<void>;
  /** Registers who is told after each commit of this process that announced an event. A nudge only. */
  onAnnounced(listener: () => void): void;
}

const attempts = 3;
/** Least time that is left for another attempt: it may wait that long for a connection. */
const leastLeftMs = 2000;
/** A conflict that took longer was one of locks that are held, not of two units that met. */
const metMs = 1000;
/** What a unit may wait in any case: its request may have spent its time on something else, such as a hash. */
const leastWaitMs = 500;
/** How long a note may wait. */
const noteWaitMs = 500;

/** A unit of work awaited something that is not SQL: a defect of the caller, noticed at once because it holds up every writer. */
class IdleUnitError extends Error {
  constructor() {
    super('a unit of work awaited something other than SQL');
    this.name = 'IdleUnitError';
  }
}

/** What `unit.refuse` throws. It is no Failure, so that code which expects one lets it pass, and only the unit knows the class. */
class Refusal extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`a unit of work refuses: ${failure.type}`);
    this.name = 'Refusal';
    this.failure = failure;
  }
}

/** What ends a rehearsal, so that the database takes it back. */
class Rehearsed<T> extends Error {
  readonly value: T;

  constructor(value: T) {
    super('a unit of work was rehearsed');
    this.name = 'Rehearsed';
    this.value = value;
  }
}

/** A unit of work caught its own refusal: a defect of the caller. What was kept to refuse must not be committed as a success. */
class CaughtRefusalError extends Error {
  constructor(refusal: Refusal) {
    super(`a unit of work did not end with its refusal ${refusal.failure.type}`, { cause: refusal });
    this.name = 'CaughtRefusalError';
  }
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
  /** Attempts until one is committed, the time is over, or the error is no conflict. */
  const attempt = async <T>(by: AuditContext, body: (unit: Unit) => Promise<T>, waitMs: number): Promise<Done<T>> => {
    const started = performance.now();
    const until = untilOf(by, started, waitMs);
    for (let count = 1; ; count++) {
      try {
        return await driver.transact(async (connection) => {
          const done = await runUnit(connection, by, body, outbox, clock, announced);
          return { value: done, inserts: done.inserts };
        }, until);
      } catch (error) {
        if (!isConflict(error)) throw error;
        const now = performance.now();
        if (count < attempts && now + leastLeftMs < until) continue;
        throw now - started > metMs ? new DatabaseError('busy', error.code) : error;
      }
    }
  };
  /** What a unit failed with: a row that refers to one that is not there, where all of the project was deleted meanwhile, says just that. */
  const causeOf = async ({ projectId }: AuditContext, error: unknown): Promise<unknown> => {
    if (!(error instanceof DatabaseError && error.kind === 'reference') || projectId === null) return error;
    const place = driver.dialect === 'sqlite' ? '?' : '$1';
    const found = await driver.read({ sql: `select 1 as one from projects where id = ${place}`, values: [projectId] });
    return found.length === 0 ? new Failure('project_not_found', { cause: error }) : error;
  };
  const reads = (reading?: Reading): Reads => ({
    all: (query) => driver.read(query, reading),
    one: async (query) => (await driver.read(query, reading))[0],
    snapshot: (body) => driver.snapshot((connection) => body(readerOf(connection)), reading),
  });
  const measured = async <T>(by: AuditContext, body: (unit: Unit) => Promise<T>, waitMs: number): Promise<Done<T>> => {
    const started = clock.monotonic();
    const seconds = () => (clock.monotonic() - started) / 1000;
    try {
      const done = await attempt(by, body, waitMs);
      metrics.unit('write', 'ok', seconds());
      if (done.wrote) writability.accepted();
      return done;
    } catch (error) {
      metrics.unit('write', 'failed', seconds());
      if (error instanceof DatabaseError && error.kind === 'notWritable') writability.refused(error.code);
      throw await causeOf(by, error);
    }
  };
  const work = async <T>(by: AuditContext, body: (unit: Unit) => Promise<T>, waitMs = longestWaitMs): Promise<T> => {
    const { outcome, then } = await measured(by, body, waitMs);
    for (const next of then) next();
    if (outcome instanceof Refusal) throw outcome.failure;
    return outcome;
  };
  return {
    ...reads(),
    lists: reads,
    work: (by, body) => work(by, body),
    rehearse: async (by, body) => {
      const rehearsed = attempt(
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
    },
    note: async (by, body) => {
      if (!writability.isWritable()) return;
      await work(by, body, noteWaitMs).catch((error: unknown) => {
        if (!(error instanceof DatabaseError && failureOf(error) !== undefined)) throw error;
      });
    },
    onAnnounced: (listener) => void listeners.push(listener),
  };
}

/**
 * When a unit stops waiting, on the clock of `performance`. The units of a request share their time, and each has a little of its own. Who
 * queues before its unit begins asks for it then, so that the queue is part of that time.
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
  /** Whether it changed anything, as far as is known: then the database takes writes. */
  readonly wrote: boolean;
  readonly inserts: readonly Insert[];
  readonly then: readonly (() => void)[];
}

/** Another unit was in the way, or the statement was made for another state of the schema: the unit may run again. */
function isConflict(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && (error.kind === 'conflict' || ['0A000', '26000'].includes(error.code));
}

function readerOf(connection: Connection): Reader {
  return { all: (query) => connection.all(query), one: async (query) => (await connection.all(query))[0] };
}

/** Runs the body once and collects what it leaves for the commit. */
async function runUnit<T>(
  connection: Connection,
  by: AuditContext,
  body: (unit: Unit) => Promise<T>,
  outbox: Outbox,
  clock: Clock,
  announced: () => void,
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
 * Watches that the body is never left waiting with no statement under way. Continuations of promises run before `setImmediate`,
 * so a body that is still unfinished then, with nothing asked of the database, waits for something else.
 */
function watchIdle(connection: Connection): { watched: Connection; idle: Promise<never>; done: () => void } {
  let underWay = 0;
  let over = false;
  let alarm: (error: Error) => void = () => {};
  const idle = new Promise<never>((_, reject) => {
    alarm = reject;
  });
  // Where the body fails first, nobody listens to this promise any more.
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
