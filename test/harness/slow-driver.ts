// A database that answers late, by a random time for each statement: finds races that a fast database hides.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection, Driver } from '#src/platform/db/driver.js';

/** Delays every answer of a database by 0 to `longestMs` milliseconds. */
export function slowDriver(driver: Driver, longestMs: number): Driver {
  const late = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await sleep(Math.random() * longestMs);
    return value;
  };
  const slow = (connection: Connection): Connection => ({
    all: (query) => late(connection.all(query)),
    together: (queries) => late(connection.together(queries)),
    run: (query) => late(connection.run(query)),
  });
  return {
    ...driver,
    read: (query, reading) => late(driver.read(query, reading)),
    snapshot: (body, reading) => driver.snapshot((connection) => body(slow(connection)), reading),
    transact: (body, until) => driver.transact((connection) => body(slow(connection)), until),
  };
}
