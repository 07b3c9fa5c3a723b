import { Failure } from '#src/contract/errors.js';
import { type EventName, events } from '#src/contract/events.js';
import type { Instant } from '#src/contract/shapes.js';
import { type Clock, instantOf } from '../clock.js';
import type { Metrics } from '../metrics.js';
import { DatabaseError } from './database-error.js';
import type { Connection, Driver, Insert } from './driver.js';
import type { By, Ledger, Message, Recorded } from './ledger.js';
import type { Query } from './query.js';
import type { Row } from './table.js';

/** Reads rows: the database itself (each query its own snapshot), a snapshot, or a unit of work. */
export interface Reader {
  all(query: Query): Promise<Row[]>;
  /** The first row, if any. */
  one(query: Query): Promise<Row | undefined>;
}

/** A unit of work: everything done through it is committed together or not at all. Only SQL may be awaited inside. */
export interface Unit extends Reader {
  readonly by: By;
  /** One instant for the whole unit. */
  readonly now: Instant;
  /** Changes rows and returns how many. */
  run(query: Query): Promise<number>;
  /** Leaves an audit row and, where the event is announced, an event, in the same commit. */
  record<E extends EventName>(event: E, recorded: Recorded<E>): void;
  /** Leaves a message to a person, in the same commit; a job sends it. */
  send(message: Message): void;
  /** Runs after the commit. A nudge only: it may never come. */
  afterCommit(then: () => void): void;
}

/** Reads and units of work over one database. */
export interface Database extends Reader {
  /** Several reads of one state of the database. */
  snapshot<T>(body: (snapshot: Reader) => Promise<T>): Promise<T>;
  /**
   * Runs a unit of work. Throwing rolls back. Returning a Failure commits and then throws it: so a wrong password is counted and refused.
   * The body may run again when the database asks for it, so it must have no other effects.
   */
  work<T>(by: By, body: (unit: Unit) => Promise<T>): Promise<Exclude<T, Failure>>;
  /** Registers who is told after each commit of this process that announced an event. A nudge only. */
  onAnnounced(listener: () => void): void;
}

const attempts = 3;

/** A unit of work awaited something that is not SQL: a defect of the caller, noticed at once because it holds up every writer. */
class IdleUnitError extends Error {
  constructor() {
    super('a unit of work awaited something other than SQL');
    this.name = 'IdleUnitError';
  }
}

/** Builds units of work over a driver. */
export function createDatabase(driver: Driver, ledger: Ledger, clock: Clock, metrics: Metrics): Database {
  const listeners: (() => void)[] = [];
  const announced = () => {
    for (const listener of listeners) listener();
  };
  const work = async <T>(by: By, body: (unit: Unit) => Promise<T>): Promise<Exclude<T, Failure>> => {
    const started = clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      const then: (() => void)[] = [];
      let value: T;
      try {
        value = await driver.transact((connection) => runUnit(connection, by, body, ledger, clock, then, announced));
      } catch (error) {
        const again =
          error instanceof DatabaseError &&
          (error.kind === 'conflict' || error.code === '0A000' || error.code === '26000');
        if (again && attempt < attempts) continue;
        metrics.unit('write', 'failed', (clock.monotonic() - started) / 1000);
        throw error;
      }
      metrics.unit('write', 'ok', (clock.monotonic() - started) / 1000);
      for (const next of then) next();
      if (value instanceof Failure) throw value;
      return value as Exclude<T, Failure>;
    }
  };
  const all = (query: Query) => driver.read(query);
  return {
    all,
    one: async (query) => (await all(query))[0],
    snapshot: (body) => driver.snapshot((connection) => body(readerOf(connection))),
    work,
    onAnnounced: (listener) => void listeners.push(listener),
  };
}

function readerOf(connection: Connection): Reader {
  return { all: (query) => connection.all(query), one: async (query) => (await connection.all(query))[0] };
}

/** Runs the body once and collects what it leaves for the commit. */
async function runUnit<T>(
  connection: Connection,
  by: By,
  body: (unit: Unit) => Promise<T>,
  ledger: Ledger,
  clock: Clock,
  then: (() => void)[],
  announced: () => void,
): Promise<{ value: T; inserts: readonly Insert[] }> {
  const now = instantOf(clock.now());
  const entries = ledger.open(by, now);
  const { watched, idle, done } = watchIdle(connection);
  const unit: Unit = {
    ...readerOf(watched),
    by,
    now,
    run: (query) => watched.run(query),
    record: (event, recorded) => {
      entries.record(event, recorded);
      if (events[event].announced && !then.includes(announced)) then.push(announced);
    },
    send: (message) => entries.send(message),
    afterCommit: (next) => then.push(next),
  };
  try {
    const value = await Promise.race([body(unit), idle]);
    return { value, inserts: entries.inserts() };
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
    },
    idle,
    done: () => {
      over = true;
    },
  };
}
