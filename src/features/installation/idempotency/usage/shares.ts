import { Failure } from '#src/contract/errors.js';
import { idempotencyLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { Lru } from '#src/platform/lru.js';
import type { IdempotencyStore } from '../store.js';

/** Who sends a request with a key. */
export interface KeyedCaller {
  readonly projectId: string;
  /** What tells callers apart, such as `user:ada`. */
  readonly caller: string;
}

interface Usage {
  requests: number;
  bytes: number;
  /** When the first of them was made. */
  readonly oldest: number;
  /** When they are counted again, on the monotonic clock. */
  readonly until: number;
}

const dayMs = idempotencyLimits.hours * 3_600_000;

/**
 * What is kept of requests with a key, in shares: end users have no part in the share of the server keys of their project, and one of them has
 * a small part of that of all. Where a share has too many requests, further ones are refused; where it has too many bytes, further answers are not
 * kept, and their requests are carried out once all the same.
 */
export function createShares({ db, clock }: Pick<Runtime, 'db' | 'clock'>, store: IdempotencyStore) {
  const usages = new Lru<Usage>({ bytes: 1_048_576, entries: 10_000, largest: 1024 });

  /** Counted again after some seconds only: a share may be exceeded by what other processes carry out meanwhile. */
  const usageOf = async (name: string, query: Parameters<typeof db.one>[0]): Promise<Usage> => {
    const known = () => {
      const usage = usages.get(name);
      return usage !== undefined && usage.until >= clock.monotonic() ? usage : undefined;
    };
    const before = known();
    if (before !== undefined) return before;
    const row = await db.one(query);
    // Another request may have counted meanwhile, and been counted.
    const meanwhile = known();
    if (meanwhile !== undefined) return meanwhile;
    const until = clock.monotonic() + idempotencyLimits.usageSeconds * 1000;
    const { requests, bytes, oldest } = row ?? {};
    const usage = { requests: Number(requests), bytes: Number(bytes), oldest: Number(oldest ?? clock.now()), until };
    usages.set(name, usage, 100);
    return usage;
  };
  const secondsUntil = (time: number) => Math.ceil(Math.min(dayMs, Math.max(1, time - clock.now())) / 1000);
  return {
    /**
     * Takes a place for a request. Returns what takes bytes for its answer: false where it is not to be kept. Throws Failure
     * `general_rate_limit_exceeded`.
     */
    take: async ({ projectId, caller }: KeyedCaller): Promise<(bytes: number) => boolean> => {
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
    },
  };
}

function tooMany(who: string, retryAfter: number): Failure {
  return new Failure('general_rate_limit_exceeded', {
    message: `${who} sent too many requests with an Idempotency-Key in ${idempotencyLimits.hours} hours.`,
    retryAfter,
  });
}
