import type { Rate } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { type AuditContext, byService } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { windowOf } from './rates.js';
import type { CounterKey, LimitStore } from './store.js';

/** A counted call to be refunded. */
interface Refund {
  readonly counter: CounterKey;
  readonly rate: Rate;
}

/** Refunds of calls that failed for an internal reason. */
export interface Refunds {
  /** Never throws: the caller needs the reason of the failed call, not of its refund. */
  give(by: AuditContext, refunds: readonly Refund[], reason: unknown): Promise<void>;
  /** The database is available again: writes pending refunds after the unit's commit. */
  resume(unit: Unit): void;
}

/** Maximum number of refunds kept in memory while the database is unavailable. Further ones are dropped. */
const maxOwed = 10_000;

/**
 * Refunds calls that were counted and then failed for an internal reason. If the database is unavailable, keeps refunds in memory until the
 * next counted call: users in the middle of a login must not be locked out when the database is back.
 */
export function createRefunds({ db }: Pick<Runtime, 'db'>, store: LimitStore): Refunds {
  const owed: Refund[] = [];
  const write = (by: AuditContext, refunds: readonly Refund[]): Promise<void> =>
    db.work(by, async (unit) => {
      for (const { counter, rate } of refunds) await unit.run(store.retreat(counter, windowOf(rate).intervalMs));
    });
  const keep = (refunds: readonly Refund[]): void => {
    owed.push(...refunds.slice(0, Math.max(0, maxOwed - owed.length)));
  };
  const settle = async (): Promise<void> => {
    const some = owed.splice(0, 100);
    if (some.length === 0) return;
    await write(byService('limits'), some).catch(() => keep(some));
  };
  return {
    give: async (by, refunds, reason) => {
      if (refunds.length === 0) return;
      // Avoids another query to a database that has just failed.
      if (reason instanceof DatabaseError) keep(refunds);
      else await write(by, refunds).catch(() => keep(refunds));
    },
    resume: (unit) => {
      if (owed.length > 0) unit.afterCommit(() => void settle());
    },
  };
}
