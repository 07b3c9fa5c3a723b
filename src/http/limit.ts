import { Failure } from '#src/contract/errors.js';
import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
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
  const refuse = ({ retryAfter }: LimitState) => new Failure('general_rate_limit_exceeded', { retryAfter });
  const settle = (exchange: Exchange, name: string, state: LimitState | undefined): void => {
    if (state === undefined) return;
    exchange.limit = { name, state };
    if (!state.allowed) throw refuse(state);
  };
  const demandInDatabase = async (exchange: Exchange, name: LimitName): Promise<void> => {
    const { project, actor, ip, requestId } = exchange;
    if (project === undefined || actor === undefined) return;
    const facts = { project, actor, request: { id: requestId } };
    settle(exchange, name, await db.work(by(facts), (unit) => limits.take(unit, name, 'address', ip)));
  };

  return {
    /**
     * Throws Failure 429 when the caller has used up its limit; what is counted in the database is known later. Server keys are counted as
     * keys whatever they call; others by the class of the operation.
     */
    demand: (exchange: Exchange): Promise<void> | undefined => {
      const name = exchange.operation?.declaration.limit ?? 'none';
      if (config.rateLimit === 'off' || name === 'none') return undefined;
      const shipped: LimitClass = limitClasses[name];
      if (exchange.actor?.kind !== 'key' && shipped.user === undefined) return demandInDatabase(exchange, name);
      settle(exchange, 'data', countData(exchange));
      return undefined;
    },
    /** Counts calls beyond the first of a request, on the data plane. Throws Failure 429. */
    charge: (exchange: Exchange, calls: number): void => {
      for (let call = 0; call < calls && config.rateLimit !== 'off'; call++) {
        settle(exchange, 'data', countData(exchange));
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
