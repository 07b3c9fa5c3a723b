import { Failure } from '#src/contract/errors.js';
import { idempotencyLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/cache/lru.js';
import type { Query } from '#src/platform/db/query.js';
import type { Runtime } from '#src/platform/index.js';
import { createSingleFlight } from '#src/platform/runtime/single-flight.js';
import type { IdempotencyStore } from './store.js';

/** The project and caller of a request with a key. */
export interface KeyedCaller {
  readonly projectId: string;
  /** Identifies the caller, such as `user:ada`. */
  readonly caller: string;
}

interface Usage {
  requests: number;
  bytes: number;
  /** Time of the first counted request. */
  readonly oldest: number;
  /** Time of the next count, on the monotonic clock. */
  readonly until: number;
}

const dayMs = idempotencyLimits.hours * 3_600_000;

/**
 * Quotas for stored requests. End users cannot use the quota of their project's server keys, and one user gets a small part of the quota of
 * all users. Requests over a quota are refused. Over a byte quota, responses are not stored, but the requests are still executed only once.
 */
export function createUsageQuotas({ db, clock }: Pick<Runtime, 'db' | 'clock'>, store: IdempotencyStore) {
  const usages = new Lru<Usage>({ bytes: 1_048_576, entries: 10_000, largest: 1024 });

  const readOnce = createSingleFlight<Usage>();

  /** Caches counts for some seconds, so concurrent requests of other processes may exceed a quota. */
  const usageOf = async (name: string, query: Query): Promise<Usage> => {
    const known = usages.get(name);
    if (known !== undefined && known.until >= clock.monotonic()) return known;
    // Concurrent requests share one count.
    return readOnce(async () => {
      const { requests, bytes, oldest } = (await db.one(query)) ?? {};
      const until = clock.monotonic() + idempotencyLimits.usageSeconds * 1000;
      const usage = { requests: Number(requests), bytes: Number(bytes), oldest: Number(oldest ?? clock.now()), until };
      usages.set(name, usage, 100);
      return usage;
    }, name);
  };
  const secondsUntil = (time: number) => Math.ceil(Math.min(dayMs, Math.max(1, time - clock.now())) / 1000);
  /**
   * Reserves quota for a request. Returns a function that reserves bytes for the response; it returns false if the response must not be
   * stored. Throws Failure `general_rate_limit_exceeded`.
   */
  return async ({ projectId, caller }: KeyedCaller): Promise<(bytes: number) => boolean> => {
    const isKey = caller.startsWith('key:');
    const all = await usageOf(`${isKey ? 'keys' : 'users'} ${projectId}`, store.usage(projectId, isKey));
    const own = isKey
      ? undefined
      : await usageOf(`${caller} ${projectId}`, store.usageOfCaller(projectId, caller, clock.now() - dayMs));
    if (own !== undefined && own.requests >= idempotencyLimits.requestsOfCaller)
      throw tooMany('You have', secondsUntil(own.oldest + dayMs));
    if (all.requests >= idempotencyLimits.requests)
      throw tooMany(
        isKey ? 'The server keys of the project have' : 'The users of the project have',
        idempotencyLimits.fullRetrySeconds,
      );
    const held = own === undefined ? [all] : [all, own];
    for (const usage of held) usage.requests += 1;
    const mostOfAll = isKey ? idempotencyLimits.bytes : idempotencyLimits.bytesForUsers;
    return (bytes) => {
      if (bytes > idempotencyLimits.answerBytes || all.bytes + bytes > mostOfAll) return false;
      if (own !== undefined && own.bytes + bytes > idempotencyLimits.bytesOfCaller) return false;
      for (const usage of held) usage.bytes += bytes;
      return true;
    };
  };
}

function tooMany(who: string, retryAfter: number): Failure {
  return new Failure('general_rate_limit_exceeded', {
    message: `${who} sent too many requests with an Idempotency-Key in ${idempotencyLimits.hours} hours.`,
    retryAfter,
  });
}
