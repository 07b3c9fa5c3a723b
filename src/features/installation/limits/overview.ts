import { asciiAddress } from '#src/contract/email-address.js';
import {
  countedInMemory,
  jobLimits,
  type LimitClass,
  type LimitName,
  limitClasses,
  type Rate,
} from '#src/contract/limits.js';
import { addressKey } from '#src/platform/admission/limiter.js';
import { byJob } from '#src/platform/db/outbox.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { keysOfUser, type Rates, windowOf } from './rates.js';
import { arrivalAt, type LimitStore, limitCounters, type StoredSelection } from './store.js';

/** A counter in use, as printed by `svc limits show`. */
export interface LimitCounter {
  readonly class: string;
  readonly kind: string;
  readonly key: string;
  readonly count: number;
  readonly limit: number;
  readonly resetAt: number;
}

/** Selects counters of a project, or of one address or user in it. The user need not exist. */
export interface LimitSelection {
  readonly projectId: string;
  readonly address?: string;
  readonly user?: { readonly id?: string; readonly email: string | null };
}

/** A rate in force. */
interface LimitRate extends Rate {
  readonly class: string;
  readonly kind: string;
  readonly summary: string;
  readonly counted: string;
}

/** Operators' view of limits. */
export interface LimitOverview {
  /** Every class with its rates in force. */
  rates(): LimitRate[];
  /** Counters that are not back to zero yet. */
  list(reader: Reader, selection: LimitSelection): Promise<LimitCounter[]>;
  /** Deletes counters. Returns their number. */
  reset(unit: Unit, selection: LimitSelection): Promise<number>;
  /** Deletes the counters of an erased person, by keys and by network addresses. */
  forget(unit: Unit, projectId: string, keys: readonly string[], addresses: readonly string[]): Promise<number>;
  /** Corrects counters after the clock was set back. Counters used in the meantime have corrected themselves. */
  settle(signal: AbortSignal): Promise<void>;
}

/** Creates the overview of limits. */
export function createOverview(
  { db, clock }: Pick<Runtime, 'db' | 'clock'>,
  store: LimitStore,
  { rateOf, rateOfRow }: Rates,
): LimitOverview {
  return {
    rates: () =>
      Object.entries(limitClasses).flatMap(([name, { summary, ...shipped }]) =>
        Object.entries<Rate>(shipped).map(([kind, rate]) => ({
          class: name,
          kind,
          summary,
          ...(rateOf(name as LimitName, kind as keyof Omit<LimitClass, 'summary'>) ?? rate),
          counted: countedIn(name),
        })),
      ),
    list: async (reader, selection) => {
      const now = clock.now();
      return (await reader.all(store.list(stored(selection), now)))
        .map((found) => {
          const row = limitCounters.decode(found);
          const rate = rateOfRow(row);
          const { intervalMs, windowMs } = windowOf(rate);
          const arrival = arrivalAt(row, now, windowMs);
          const count = Math.ceil((arrival - now) / intervalMs);
          return { class: row.class, kind: row.kind, key: row.key, count, limit: rate.count, resetAt: arrival };
        })
        .filter(({ count }) => count > 0);
    },
    reset: async (unit, selection) => {
      const counters = await unit.run(store.reset(stored(selection)));
      unit.record('limitsReset', { resource: 'limits', payload: { counters } });
      return counters;
    },
    forget: (unit, projectId, keys, addresses) =>
      unit.run(store.reset({ projectId, keys: [...keys, ...addresses.map(addressKey)] })),
    settle: async (signal) => {
      for (let moved: number = jobLimits.batch; moved === jobLimits.batch; ) {
        signal.throwIfAborted();
        const now = clock.now();
        moved = await db.work(byJob('clock.settle'), async (unit) => {
          const rows = (await unit.all(store.ahead(now, jobLimits.batch))).map((row) => limitCounters.decode(row));
          for (const row of rows)
            await unit.run(store.place(row, arrivalAt(row, now, windowOf(rateOfRow(row)).windowMs), now));
          return rows.length;
        });
      }
    },
  };
}

function countedIn(name: string): string {
  const how = countedInMemory.get(name);
  if (how === undefined) return 'in the database';
  return how === 'together' ? 'in memory, for all server processes together' : 'in the memory of each server process';
}

function stored({ projectId, address, user }: LimitSelection): StoredSelection {
  if (address !== undefined) return { projectId, kind: 'address', keys: [addressKey(address)] };
  if (user === undefined) return { projectId };
  // Logins count by the address entered; wrong passwords of signed-in users and second factors count by the user.
  const { id, email } = user;
  return {
    projectId,
    kind: 'account',
    keys: keysOfUser(id, email ? [asciiAddress(email) ?? email.toLowerCase()] : []),
  };
}
