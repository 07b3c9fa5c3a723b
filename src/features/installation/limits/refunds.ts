import type { Rate } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { windowOf } from './rates.js';
import type { CounterKey, LimitStore } from './store.js';

/** A call that is given back to its counter. */
interface Refund {
  readonly counter: CounterKey;
  readonly rate: Rate;
}

/** Refunds that one process keeps while the database is away; what is more than that stays counted. */
const maxOwed = 10_000;

/**
 * Gives calls back that were counted and then failed for a reason of ours. What cannot be written because the database is away is kept in
 * memory until a call is counted again: those who were in the middle of a login when it went must not be locked out when it is back.
 */
export function createRefunds({ db }: Pick<Runtime, 'db'>, store: LimitStore) {
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
    await write({ projectId: null, actor: { kind: 'service', id: 'limits' }, requestId: '' }, some).catch(() =>
      keep(some),
    );
  };
  return {
    /** Never throws: the caller is told why the call failed, not why its refund did. */
    give: async (by: AuditContext, refunds: readonly Refund[], reason: unknown): Promise<void> => {
      if (refunds.length === 0) return;
      // Nothing more is asked of a database that has just failed.
      if (reason instanceof DatabaseError) keep(refunds);
      else await write(by, refunds).catch(() => keep(refunds));
    },
    /** The database answers: what is owed is written once the unit is committed. */
    resume: (unit: Unit): void => {
      if (owed.length > 0) unit.afterCommit(() => void settle());
    },
  };
}
