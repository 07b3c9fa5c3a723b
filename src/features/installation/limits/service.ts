import { isOurFault } from '#src/contract/errors.js';
import type { LimitName } from '#src/contract/limits.js';
import { advance, type LimitState } from '#src/platform/admission/limiter.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { challengeKey, counterKey, type LimitKind, limitKinds, type Rates, windowOf } from './rates.js';
import { createRefunds, type Refunds } from './refunds.js';
import { arrivalAt, type LimitStore, limitCounters } from './store.js';

/** Keys of the counters to use, by kind. Each is counted separately. */
type LimitKeys = { readonly [Kind in LimitKind]?: string };

/** Counts calls of the security classes in the database, shared by all processes and the command line. */
export interface LimitCounting {
  /** Counts one call; undefined if the class has no such limit or limits are off. */
  take(unit: Unit, name: LimitName, kind: LimitKind, value: string): Promise<LimitState | undefined>;
  /** Refunds counted calls that failed for an internal reason. Never throws. */
  giveBack(by: AuditContext, name: LimitName, keys: LimitKeys, reason: unknown): Promise<void>;
  /**
   * Counts an attempt in its own unit, then runs `verify`. Refunds the attempt if `verify` fails for an internal reason, such as a full hash
   * queue or an unavailable database: a flood of correct passwords must not lock users out. Throws Failure 429 if a limit is exhausted. Do
   * not call it inside a unit of work.
   */
  attempt<T>(by: AuditContext, name: LimitName, keys: LimitKeys, verify: () => Promise<T>): Promise<T>;
  /** Counts one call for each given key, up to the first exhausted one. Throws Failure 429 for that one; counts made so far stay. */
  consume(unit: Unit, name: LimitName, keys: LimitKeys): Promise<void>;
  /** Like `consume`, but returns false instead of throwing. */
  allows(unit: Unit, name: LimitName, keys: LimitKeys): Promise<boolean>;
  /**
   * Counts a message with a code or link that anyone can request: per recipient, short-term and daily, and per project. The operation's own
   * class counts the client's address. Throws Failure 429.
   */
  requireSend(unit: Unit, channel: 'mail' | 'sms', recipient: string): Promise<void>;
  /**
   * Counts a second-factor code for a user who has proved another factor: per user, short-term and daily, and per project. Messages
   * requested by strangers cannot use up this quota. Throws Failure 429.
   */
  requireChallenge(unit: Unit, channel: 'mail' | 'sms', userId: string): Promise<void>;
  /** Clears the counter of an account and refunds the call of an address, after a call turned out to be legitimate. */
  forgive(unit: Unit, name: LimitName, keys: Pick<LimitKeys, 'account' | 'address'>): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'clock'>, Rates {
  readonly store: LimitStore;
  readonly refunds: Refunds;
}

const everybody = '';

/** Creates the counting of calls. */
export function createCounting(
  { db, clock }: Pick<Runtime, 'db' | 'clock'>,
  store: LimitStore,
  rates: Rates,
): LimitCounting {
  const deps: Deps = { db, clock, ...rates, store, refunds: createRefunds({ db }, store) };
  return {
    attempt: (by, name, keys, verify) => attempt(deps, by, name, keys, verify),
    allows: async (unit, name, keys) => (await takeAll(deps, unit, name, keys)) === undefined,
    ...bind(deps, { take, giveBack, consume, requireSend, requireChallenge, forgive }),
  };
}

async function take(
  { clock, rateOf, isOff, store, refunds }: Deps,
  unit: Unit,
  name: LimitName,
  kind: LimitKind,
  value: string,
): Promise<LimitState | undefined> {
  const rate = rateOf(name, kind);
  if (rate === undefined || isOff(name)) return undefined;
  refunds.resume(unit);
  const now = clock.now();
  const key = counterKey(unit.by.projectId ?? '', name, kind, value);
  const { intervalMs, windowMs } = windowOf(rate);
  const moved = await unit.one(store.advance(key, now, { intervalMs, windowMs }));
  if (moved !== undefined) return advance(Number(moved.arrival) - intervalMs, now, rate).state;
  const found = await unit.one(store.find(key));
  const row = found && limitCounters.decode(found);
  const arrival = row === undefined ? now + windowMs : arrivalAt(row, now, windowMs);
  // Stores the corrected arrival. Otherwise the wait would restart with each call until the clock has caught up.
  if (row !== undefined && arrival !== row.arrival) await unit.run(store.place(key, arrival, now));
  return {
    ...advance(arrival, now, rate).state,
    allowed: false,
    remaining: 0,
    retryAfter: Math.max(1, Math.ceil((arrival + intervalMs - now - windowMs) / 1000)),
  };
}

/** Counts one call for each given key, up to the first exhausted one, and returns that one's state. */
async function takeAll(deps: Deps, unit: Unit, name: LimitName, keys: LimitKeys): Promise<LimitState | undefined> {
  for (const kind of limitKinds) {
    const value = keys[kind];
    const state = value === undefined ? undefined : await take(deps, unit, name, kind, value);
    if (state?.allowed === false) return state;
  }
  return undefined;
}

async function consume(deps: Deps, unit: Unit, name: LimitName, keys: LimitKeys): Promise<void> {
  const exhausted = await takeAll(deps, unit, name, keys);
  if (exhausted !== undefined) throw unit.refuse('general_rate_limit_exceeded', { retryAfter: exhausted.retryAfter });
}

async function attempt<T>(
  deps: Deps,
  by: AuditContext,
  name: LimitName,
  keys: LimitKeys,
  verify: () => Promise<T>,
): Promise<T> {
  await deps.db.work(by, (unit) => consume(deps, unit, name, keys));
  try {
    return await verify();
  } catch (error) {
    if (isOurFault(error)) await giveBack(deps, by, name, keys, error);
    throw error;
  }
}

async function giveBack(
  { rateOf, isOff, refunds }: Deps,
  by: AuditContext,
  name: LimitName,
  keys: LimitKeys,
  reason: unknown,
): Promise<void> {
  if (isOff(name)) return;
  const counted = limitKinds.flatMap((kind) => {
    const [value, rate] = [keys[kind], rateOf(name, kind)];
    return value === undefined || rate === undefined
      ? []
      : [{ counter: counterKey(by.projectId ?? '', name, kind, value), rate }];
  });
  await refunds.give(by, counted, reason);
}

async function requireSend(deps: Deps, unit: Unit, channel: 'mail' | 'sms', recipient: string): Promise<void> {
  await requireTo(deps, unit, recipient);
  await consume(deps, unit, `send-${channel}`, { anyone: everybody, project: everybody });
}

async function requireTo(deps: Deps, unit: Unit, account: string): Promise<void> {
  await consume(deps, unit, 'send', { account });
  await consume(deps, unit, 'send-daily', { account });
}

async function requireChallenge(deps: Deps, unit: Unit, channel: 'mail' | 'sms', userId: string): Promise<void> {
  await requireTo(deps, unit, challengeKey(userId, channel));
  await consume(deps, unit, `send-${channel}`, { project: everybody });
}

async function forgive(
  { rateOf, store }: Deps,
  unit: Unit,
  name: LimitName,
  { account, address }: Pick<LimitKeys, 'account' | 'address'>,
): Promise<void> {
  const projectId = unit.by.projectId ?? '';
  if (account !== undefined) await unit.run(store.remove(counterKey(projectId, name, 'account', account)));
  const rate = rateOf(name, 'address');
  if (rate === undefined || address === undefined) return;
  await unit.run(store.retreat(counterKey(projectId, name, 'address', address), windowOf(rate).intervalMs));
}
