import { setTimeout as sleep } from 'node:timers/promises';
import { createSingleFlight } from '../runtime/single-flight.js';
import { createBatcher } from './batch.js';
import { DatabaseError } from './database-error.js';
import type { Driver } from './driver.js';
import { type Query, statement } from './query.js';
import type { Row } from './table.js';

/** How often the standby is compared with the primary, and how long a list waits for it before it reads from the primary. */
const times = { compareMs: 500, waitMs: 50, pauseMs: 2 } as const;
/** Positions that are kept to measure the lag: one for each comparison. */
const maxKept = 7200;

/** The log position after every answered commit: commits are flushed before the answer, unless the role commits asynchronously. */
const positionOfPrimary = statement(
  `select substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) as timeline,
    cast(pg_wal_lsn_diff(case when current_setting('synchronous_commit') = 'off' then pg_current_wal_insert_lsn()
      else pg_current_wal_flush_lsn() end, '0/0') as text) as position`,
);
const positionOfStandby = statement(
  "select cast(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') as text) as position where pg_is_in_recovery()",
);
const identity = statement(
  `select concat(c.system_identifier, '/', d.oid) as id
    from pg_control_system() c, pg_database d where d.datname = current_database()`,
);
/** The newest timeline that the standby is known to follow. After a failover it may have replayed more of the former one than the new primary. */
const timelineOfStandby = statement(
  `select lpad(upper(to_hex(greatest(c.timeline_id, r.min_recovery_end_timeline))), 8, '0') as timeline
    from pg_control_checkpoint() c, pg_control_recovery() r`,
);

/** A standby, which only reads. */
export interface Standby extends Pick<Driver, 'read' | 'close'> {
  /** Reads that include everything up to a position of the write-ahead log. They throw DatabaseError `behind` if the standby has replayed less. */
  after(position: number): Pick<Driver, 'read' | 'snapshot'>;
}

/** Error code of a read if the standby has replayed less than required, or if another kind of server responded. */
export const behind = 'standby_behind';

/** Why the standby is not used: the reason, and the code of an error of its connection. */
export type StandbyProblem = 'unreachable' | 'not-a-standby' | 'another-database' | 'another-timeline';

/** What happens with the standby, for the log and the metrics. */
export interface StandbyReports {
  /** The standby is used from now on if `problem` is undefined. */
  onStandby(problem: StandbyProblem | undefined, code?: string): void;
  /** Reports the lag of the standby in seconds; undefined if it is not used. */
  lag(seconds: number | undefined): void;
  /** Counts a list by the server that answered it. */
  list(server: 'standby' | 'primary'): void;
}

interface Position {
  readonly position: number;
  readonly timeline: string;
}

/** The result of a comparison. */
interface StandbyState extends Position {
  readonly problem?: StandbyProblem;
  readonly code?: string;
}

/** Compares a standby with the primary by what both say. Throws DatabaseError if the primary does not respond. */
export async function lookAtStandby(
  primary: Pick<Driver, 'read'>,
  standby: Pick<Driver, 'read'>,
): Promise<StandbyState> {
  const [own] = await primary.read(identity);
  const none = { position: 0, timeline: '' };
  try {
    const one = async (query: Query): Promise<Row | undefined> => (await standby.read(query))[0];
    const [theirs, replayed] = [await one(identity), await one(positionOfStandby)];
    if (theirs?.id !== own?.id) return { problem: 'another-database', ...none };
    if (replayed === undefined) return { problem: 'not-a-standby', ...none };
    return { position: Number(replayed.position), timeline: String((await one(timelineOfStandby))?.timeline) };
  } catch (error) {
    return { problem: 'unreachable', code: error instanceof DatabaseError ? error.code : 'unknown', ...none };
  }
}

/** Reads the log position after every commit that was answered. Throws DatabaseError. */
export async function positionAtPrimary(primary: Pick<Driver, 'read'>): Promise<Position> {
  const [row] = await primary.read(positionOfPrimary);
  return { position: Number(row?.position), timeline: String(row?.timeline) };
}

/**
 * Adds a standby for lists to a database. A list is read there only if the standby has replayed everything that was answered before the
 * list began, whatever process answered it: a caller sees its own writes, and nothing that was withdrawn from it. Otherwise, and if
 * anything is wrong with the standby, it is read from the primary.
 */
export function withStandby(primary: Driver, standby: Standby, reports: StandbyReports): Driver {
  const lists = new StandbyLists(primary, standby, reports);
  return {
    ...primary,
    read: (query, reading) =>
      reading === undefined ? primary.read(query) : lists.use((server) => server.read(query, reading)),
    snapshot: (body, reading) =>
      reading === undefined ? primary.snapshot(body) : lists.use((server) => server.snapshot(body, reading)),
    close: async () => {
      lists.stop();
      await Promise.all([primary.close(), standby.close()]);
    },
  };
}

class StandbyLists {
  readonly #primary: Driver;
  readonly #standby: Standby;
  readonly #reports: StandbyReports;
  /** Shared by the lists that begin at the same time. */
  readonly #position: (list: undefined) => Promise<Position>;
  readonly #timer: NodeJS.Timeout;
  /** Unused until it was compared with the primary. */
  #problem: StandbyProblem | 'unknown' | undefined = 'unknown';
  #timeline = '';
  /** The standby had replayed this much. A restart of the standby may take it back. */
  #replayed = 0;
  /** True if the last wait was in vain. Until a comparison finds it up to date again, no list waits. */
  #isBehind = false;
  readonly #shared = createSingleFlight<void>();
  /** Positions of the primary that the standby has not reached, and when each was read. */
  #ahead: { readonly at: number; readonly position: number }[] = [];

  constructor(primary: Driver, standby: Standby, reports: StandbyReports) {
    this.#primary = primary;
    this.#standby = standby;
    this.#reports = reports;
    this.#position = createBatcher(
      async (lists) => {
        const position = await positionAtPrimary(primary);
        return lists.map(() => position);
      },
      { max: 1000, atOnce: 2 },
    );
    this.#timer = setInterval(() => void this.#shared(() => this.#compare(), 'compare'), times.compareMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async use<T>(list: (server: Pick<Driver, 'read' | 'snapshot'>) => Promise<T>): Promise<T> {
    const position = await this.#usable().catch(() => undefined);
    if (position !== undefined) {
      try {
        const value = await list(this.#standby.after(position));
        this.#reports.list('standby');
        return value;
      } catch (error) {
        if (!isFault(error)) throw error;
        if (error.code === behind) this.#replayed = 0;
      }
    }
    this.#reports.list('primary');
    return list(this.#primary);
  }

  /** The log position after every answered commit, if the standby has replayed it. */
  async #usable(): Promise<number | undefined> {
    if (this.#problem !== undefined) return undefined;
    const { position, timeline } = await this.#position(undefined);
    if (timeline !== this.#timeline) return undefined;
    if (position > this.#replayed && (this.#isBehind || !(await this.#reaches(position)))) return undefined;
    return position;
  }

  /** Waits briefly until the standby has replayed up to a position. */
  async #reaches(position: number): Promise<boolean> {
    const until = performance.now() + times.waitMs;
    while (this.#replayed < position) {
      const left = until - performance.now();
      if (left <= 0) {
        this.#isBehind = true;
        return false;
      }
      await Promise.race([this.#look(), sleep(left, undefined, { ref: false })]);
      if (this.#replayed < position) await sleep(times.pauseMs);
    }
    return true;
  }

  #look(): Promise<void> {
    const look = async () => {
      const [row] = await this.#standby.read(positionOfStandby);
      this.#replayed = Number(row?.position ?? 0);
    };
    return this.#shared(() => look().catch(() => {}), 'look');
  }

  async #compare(): Promise<void> {
    try {
      const seen = await lookAtStandby(this.#primary, this.#standby);
      const end = await positionAtPrimary(this.#primary);
      this.#timeline = seen.timeline;
      this.#settle(seen.problem ?? (seen.timeline === end.timeline ? undefined : 'another-timeline'), seen.code);
      if (this.#problem !== undefined) return;
      this.#measure(seen.position, end.position);
      if (this.#isBehind) this.#isBehind = !(await this.#reaches(end.position));
    } catch {
      // The primary does not respond. Lists are sent there, and report it.
    }
  }

  #settle(problem: StandbyProblem | undefined, code: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#ahead = [];
    if (problem !== undefined) this.#reports.lag(undefined);
    this.#reports.onStandby(problem, code);
  }

  #measure(replayed: number, end: number): void {
    const now = performance.now();
    if (this.#ahead.length < maxKept) this.#ahead.push({ at: now, position: end });
    this.#ahead = this.#ahead.filter(({ position }) => position > replayed);
    this.#reports.lag((now - (this.#ahead[0]?.at ?? now)) / 1000);
  }
}

/** True if the primary may do better: not for statements that take too long, or callers with too many lists. */
function isFault(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.kind !== 'timeout' && error.code !== 'lists_waiting';
}
