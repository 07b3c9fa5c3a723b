import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from './clock.js';
import type { Query, Sql, Value } from './db/query.js';
import type { Table } from './db/table.js';
import { createNotice } from './notice.js';
import type { Random } from './random.js';
import { nameOf } from './worker.js';

/** What a row of a leased table has. A due time that lies ahead is the end of a lease, or the time of the next attempt. */
interface LeasedRow {
  readonly id: string;
  readonly dueAt: Instant | null;
  readonly owner: string | null;
  readonly fence: number;
}

/** The right to work on rows until a time; another process takes them over after it. */
interface Lease {
  readonly owner: string;
  readonly now: Instant;
  readonly until: Instant;
}

/** SQL by which processes share the rows of a table. `scope` are the columns that a claim is limited to, `claimed` what it sets besides. */
export function createLeasedRows<T extends LeasedRow, S extends string>(
  sql: Sql,
  table: Table<T>,
  { scope, claimed }: { readonly scope: readonly S[]; readonly claimed: string },
) {
  const skipLocked = sql.dialect === 'postgres' ? 'for update skip locked' : '';
  const isInScope = scope.map((column) => `${column} = :${column}`).join(' and ');
  const claim = sql.prepare<Readonly<Record<string, Value>>>((k, p) =>
    k.raw(
      `with due as materialized (
        select id from ${table.name} where ${isInScope} and due_at <= :now order by due_at limit :limit ${skipLocked})
      update ${table.name} set ${claimed}, fence = fence + 1, owner = :owner, due_at = :until
      where id in (select id from due) returning :row`,
      {
        ...Object.fromEntries([...scope, 'now', 'until', 'owner', 'limit'].map((name) => [name, p[name]])),
        row: table.select(sql),
      } as never,
    ),
  );
  return {
    /** Takes the rows that are due longest: nobody else does until the lease is over, and the fence tells who came later. */
    claim: (of: Readonly<Record<S, string>>, { owner, now, until }: Lease, limit: number): Query =>
      claim({ ...of, owner, now, until, limit }),
    /** Ends a lease; changes nothing where another process has claimed the row since. */
    settle: ({ id, fence }: Pick<T, 'id' | 'fence'>, change: Partial<T>): Query =>
      sql.compile(
        sql
          .knex(table.name)
          .where({ id, fence })
          .update({ ...table.encodeSome(change), owner: null }),
      ),
  };
}

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
  /** An attempt could not be made or recorded: the lease ends by itself, and the attempt is made again. */
  onTrouble(item: I, error: string): void;
}

/**
 * Works off leased rows: claims what is due, attempts it outside of any unit of work, and records the outcome. A process that dies loses its
 * claims to the others; an attempt that it made before is then made twice.
 */
export function createLeasedQueue<I, O>(random: Random, work: LeasedWork<I, O>) {
  const owner = random.id();
  const underWay = new Set<Promise<void>>();
  const notice = createNotice();
  const perQueue = new Map<string, number>();
  let total = 0;
  const busy = (queue?: string) => (queue === undefined ? total : (perQueue.get(queue) ?? 0));
  const leaseAt = (now: Instant): Lease => ({ owner, now, until: instantOf(millisecondsOf(now) + work.leaseMs) });
  const occupy = (queue: string, change: 1 | -1): void => {
    total += change;
    const left = busy(queue) + change;
    if (left > 0) perQueue.set(queue, left);
    else perQueue.delete(queue);
  };

  /** The place is free as soon as the attempt has ended, before its outcome is recorded. */
  const run = async (item: I, then: () => void): Promise<void> => {
    const queue = work.queueOf(item);
    occupy(queue, 1);
    let outcome: O;
    try {
      outcome = await work.attempt(item);
    } finally {
      occupy(queue, -1);
      then();
    }
    await work.settle(item, outcome);
    notice.over();
  };
  return {
    /** Begins as many attempts as there is room for and returns how many; `then` is called as each of them leaves its place. */
    begin: async (then: () => void): Promise<number> => {
      const items = await work.claim(leaseAt, busy);
      for (const item of items) {
        const running = run(item, then)
          .catch((error: unknown) => {
            const name = nameOf(error);
            if (notice.isNews(name)) work.onTrouble(item, name);
          })
          .finally(() => underWay.delete(running));
        underWay.add(running);
      }
      return items.length;
    },
    /** Resolves when nothing is under way; each attempt has its time limit. */
    idle: async (): Promise<void> => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
