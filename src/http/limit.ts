import { Failure } from '#src/contract/errors.js';
import { type LimitClass, limitClasses, type Rate } from '#src/contract/limits.js';
import { by } from '#src/contract/operation.js';
import type { Limits } from '#src/features/index.js';
import type { Platform } from '#src/platform/index.js';
import { addressKey, createMemoryLimiter, type LimitState } from '#src/platform/limiter.js';
import type { Exchange } from './exchange.js';

/** Counts requests against their limit class before anything costly happens. */
export function createRequestLimit({ db, config, clock }: Pick<Platform, 'db' | 'config' | 'clock'>, limits: Limits) {
  const count = createMemoryLimiter(() => clock.monotonic());
  const dataRate = (kind: 'key' | 'user' | 'address'): Rate => config.rateLimits.data ?? limitClasses.data[kind];

  const countData = ({ project, actor, ip }: Exchange): LimitState | undefined => {
    if (project === undefined || actor === undefined) return undefined;
    const kind = actor.kind === 'guest' ? 'address' : actor.kind;
    const key = actor.kind === 'guest' ? addressKey(ip) : actor.id;
    return count(`${project.id} ${kind} ${key}`, dataRate(kind));
  };
  /** Server keys are counted as keys whatever they call; others by the class of the operation. */
  const take = async (exchange: Exchange): Promise<Exchange['limit']> => {
    const { operation, project, actor, ip, requestId } = exchange;
    const name = operation?.declaration.limit ?? 'none';
    if (name === 'none' || project === undefined || actor === undefined) return undefined;
    const shipped: LimitClass = limitClasses[name];
    if (actor.kind === 'key' || shipped.user !== undefined) {
      const state = countData(exchange);
      return state && { name: 'data', state };
    }
    const facts = { project, actor, request: { id: requestId } };
    const state = await db.work(by(facts), (unit) => limits.take(unit, name, 'address', ip));
    return state && { name, state };
  };
  const refuse = ({ retryAfter }: LimitState) => new Failure('general_rate_limit_exceeded', { retryAfter });

  return {
    /** Throws Failure 429 when the caller has used up its limit. */
    demand: async (exchange: Exchange): Promise<void> => {
      if (config.rateLimit === 'off') return;
      const taken = await take(exchange);
      if (taken === undefined) return;
      exchange.limit = taken;
      if (!taken.state.allowed) throw refuse(taken.state);
    },
    /** Counts calls beyond the first of a request, on the data plane. Throws Failure 429. */
    charge: (exchange: Exchange, calls: number): void => {
      for (let call = 0; call < calls && config.rateLimit !== 'off'; call++) {
        const state = countData(exchange);
        if (state === undefined) return;
        exchange.limit = { name: 'data', state };
        if (!state.allowed) throw refuse(state);
      }
    },
    /** Counts requests for addresses that do not exist; scanners make many. */
    demandKnownRoute: (ip: string): void => {
      if (config.rateLimit === 'off') return;
      const state = count(
        `unknown-route ${addressKey(ip)}`,
        config.rateLimits['unknown-route'] ?? limitClasses['unknown-route'].address,
      );
      if (!state.allowed) throw refuse(state);
    },
    /** Tells the caller where it stands, in the old words and in those of the IETF draft. */
    describe: ({ answer, limit }: Exchange, nowMs: number): void => {
      if (limit === undefined) return;
      const { state, name } = limit;
      // A handler may have refused for a limit of its own, such as the account's: then nothing is left, and Retry-After says until when.
      const refused = answer.status === 429;
      const remaining = refused ? 0 : state.remaining;
      const seconds = refused ? Number(answer.get('Retry-After')) : state.resetSeconds;
      answer.set('X-RateLimit-Limit', String(state.limit));
      answer.set('X-RateLimit-Remaining', String(remaining));
      answer.set('X-RateLimit-Reset', String(Math.ceil(nowMs / 1000) + seconds));
      answer.set('RateLimit-Policy', `"${name}";q=${state.limit};w=${state.windowSeconds}`);
      answer.set('RateLimit', `"${name}";r=${remaining};t=${seconds}`);
    },
  };
}
