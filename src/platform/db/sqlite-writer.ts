import { setTimeout as sleep } from 'node:timers/promises';
import { retry } from '../runtime/retry.js';
import { DatabaseError } from './database-error.js';
import { bulkInserts, type Connection, type Insert, type TransactionBody } from './driver.js';
import type { Query } from './query.js';
import type { SqliteConnection } from './sqlite-connection.js';
import type { SqliteFiles } from './sqlite-moved.js';
import { WaitingLine } from './waiting-line.js';

/** Most characters of the rows that the units of a commit insert at its end, which are written as one text. */
const largestGroupCharacters = 8_388_608;
/** SQLite sometimes returns SQLITE_BUSY without having waited. */
const busyPauseMs = 50;

/** Options of a writer. */
export interface WriterOptions {
  /** Most units in one commit. */
  readonly largestGroup: number;
  /** Longest run time of a statement, in milliseconds. */
  readonly statementMs: number;
}

interface Waiting {
  readonly body: TransactionBody<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly until: number;
}

/**
 * Writes through one connection. Units that queue up during a commit share the next one (group commit). A group uses no savepoints, because
 * each costs every unit two turns of the thread pool. If a unit fails, the group is rolled back and each of its units runs again in its own
 * transaction. The failing unit therefore sees only committed data, not the uncommitted changes of its group.
 */
export class Writer {
  readonly #connection: SqliteConnection;
  readonly #files: SqliteFiles;
  readonly #largestGroup: number;
  readonly #statementMs: number;
  readonly #queue = new WaitingLine<Waiting>();
  /** Units that run again, each in its own transaction. */
  readonly #alone = new WaitingLine<Waiting>();
  #busy: Promise<void> | undefined;

  constructor(connection: SqliteConnection, files: SqliteFiles, { largestGroup, statementMs }: WriterOptions) {
    this.#connection = connection;
    this.#files = files;
    this.#largestGroup = largestGroup;
    this.#statementMs = statementMs;
  }

  transact<T>(body: TransactionBody<T>, until: number, maxMs = this.#statementMs): Promise<T> {
    return new Promise((resolve, reject) => {
      const limited: TransactionBody<T> = (connection) => this.#connection.within({ maxMs }, () => body(connection));
      this.#queue.push({ body: limited, resolve: resolve as (value: unknown) => void, reject, until });
      this.#busy ??= this.#drain();
    });
  }

  /** Resolves when no write is running. */
  async idle(): Promise<void> {
    await this.#busy;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      this.#alone.push(...(await this.#group(this.#largestGroup, this.#queue)));
      while (this.#alone.length > 0) await this.#group(1, this.#alone);
    }
    // Set in the same step as the last check of the queue, so that the next unit starts a new run.
    this.#busy = undefined;
  }

  /** Commits at most `max` units together. Returns the units that must run again because one of them failed. */
  async #group(max: number, line: WaitingLine<Waiting>): Promise<Waiting[]> {
    if (!(await this.#begin(line))) return [];
    const done: { readonly unit: Waiting; readonly value: unknown }[] = [];
    const inserts: Insert[] = [];
    const connection = this.#afterInserts(inserts);
    let characters = 0;
    let current: Waiting | undefined;
    try {
      while (done.length < max && characters < largestGroupCharacters) {
        current = line.shift();
        if (current === undefined) break;
        const result = await current.body(connection);
        inserts.push(...result.inserts);
        characters += charactersOf(result.inserts);
        done.push({ unit: current, value: result.value });
        current = undefined;
      }
      await this.#insert(inserts);
      this.#files.requireUnmoved();
      await this.#connection.command('COMMIT');
    } catch (error) {
      // SQLite may have rolled back by itself (on a full disk, for example). This rollback then fails, which is harmless.
      await this.#connection.command('ROLLBACK').catch(() => {});
      if (current !== undefined && isTimeout(error)) {
        // Alone it would take as long and block every writer again.
        current.reject(error);
        return done.map(({ unit }) => unit);
      }
      if (current !== undefined && done.length > 0) return [...done.map(({ unit }) => unit), current];
      // Rows inserted for one unit refer to rows that another has deleted.
      if (current === undefined && done.length > 1 && isRefused(error)) return done.map(({ unit }) => unit);
      current?.reject(error);
      for (const { unit } of done) unit.reject(error);
      return [];
    }
    for (const { unit, value } of done) unit.resolve(value);
    return [];
  }

  /** The connection of a group. Before a statement that names a table, it inserts the rows that earlier units left for that table. */
  #afterInserts(inserts: Insert[]): Connection {
    const insertFor = async (...queries: readonly Query[]) => {
      if (inserts.some(({ table }) => queries.some(({ sql }) => sql.includes(table)))) await this.#insert(inserts);
    };
    return {
      all: async (query) => {
        await insertFor(query);
        return this.#connection.all(query);
      },
      run: async (query) => {
        await insertFor(query);
        return this.#connection.run(query);
      },
      together: async (queries) => {
        await insertFor(...queries);
        return this.#connection.together(queries);
      },
    };
  }

  /** Inserts the rows. If that fails, they stay in the list, so that the commit fails too. */
  async #insert(inserts: Insert[]): Promise<void> {
    for (const insert of bulkInserts('sqlite', inserts)) await this.#connection.run(insert);
    inserts.length = 0;
  }

  /**
   * Begins a transaction, or rejects the unit at the head of the queue with the error. While another process holds the lock, all units stay
   * queued.
   */
  #begin(line: WaitingLine<Waiting>): Promise<boolean> {
    const begin = async () => {
      await this.#connection.command('BEGIN IMMEDIATE');
      return true;
    };
    return retry(begin, async (error) => {
      if (error instanceof DatabaseError && error.kind === 'conflict') await sleep(busyPauseMs);
      else line.shift()?.reject(error);
      return line.length > 0;
    }).catch(() => false);
  }
}

function charactersOf(inserts: readonly Insert[]): number {
  let characters = 0;
  for (const { rows } of inserts)
    for (const row of rows) for (const value of row) characters += typeof value === 'string' ? value.length : 0;
  return characters;
}

const isRefused = (error: unknown) =>
  error instanceof DatabaseError && (error.kind === 'reference' || error.kind === 'unique');

const isTimeout = (error: unknown) => error instanceof DatabaseError && error.kind === 'timeout';
