import type { WireActor } from '#src/contract/actor.js';
import { type ErrorType, Failure, isOurFault } from '#src/contract/errors.js';
import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { Limits } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { addressKey, createMemoryLimiter, type LimitState } from '#src/platform/limiter.js';
import type { RequestContext } from './request-context.js';

/** Counts requests against their limit class before anything costly happens. */
export function createRequestLimit({ db, config, clock }: Pick<Runtime, 'db' | 'config' | 'clock'>, limits: Limits) {
  const count = createMemoryLimiter(() => clock.monotonic());
  const dataRate = (kind: 'key' | 'user' | 'address'): Rate => config.rateLimits.data ?? limitClasses.data[kind];

  const kindOf = (actor: WireActor) => (actor.kind === 'guest' ? 'address' : actor.kind);
  const countData = ({ project, actor, ip }: RequestContext, calls = 1): LimitState | undefined => {
    if (project === undefined || actor === undefined) return undefined;
    const kind = kindOf(actor);
    const key = actor.kind === 'guest' ? addressKey(ip) : actor.id;
    return count(`${project.id} ${kind} ${key}`, dataRate(kind), calls);
  };
  const refuse = ({ retryAfter }: LimitState) => new Failure('general_rate_limit_exceeded', { retryAfter });
  const settle = (context: RequestContext, name: string, state: LimitState | undefined): void => {
    if (state === undefined) return;
    context.limit = { name, state };
    if (!state.allowed) throw refuse(state);
  };
  const demandInDatabase = async (context: RequestContext, name: LimitName): Promise<void> => {
    const { project, actor, ip, requestId, waits } = context;
    if (project === undefined || actor === undefined) return;
    const facts = { project, actor, request: { id: requestId, waits } };
    const state = await db.work(auditContextOf(facts), (unit) => limits.take(unit, name, 'address', ip));
    if (state?.allowed) context.countedInDatabase = name;
    settle(context, name, state);
  };

  return {
    /**
     * Throws Failure 429 when the caller has used up its limit; a limit in the database is checked asynchronously. Server keys are counted as
     * keys whatever they call; others by the class of the operation. The refusal of an operation that charges its calls itself is deferred until
     * they are known, as `Retry-After` depends on their number.
     */
    demand: (context: RequestContext): Promise<void> | undefined => {
      const name = context.operation?.declaration.limit ?? 'none';
      if (config.rateLimit === 'off' || name === 'none') return undefined;
      const shipped: LimitClass = limitClasses[name];
      if (context.actor?.kind !== 'key' && shipped.user === undefined) return demandInDatabase(context, name);
      const state = countData(context);
      if (state?.allowed === false && context.operation?.declaration.charges === true)
        context.deferredRefusal = refuse(state);
      else settle(context, 'data', state);
      return undefined;
    },
    /** Gives a call back that failed for a reason of the service, or whose client closed the connection before its body was read. */
    giveBack: async (
      { countedInDatabase, project, actor, ip, requestId, req }: RequestContext,
      reason: unknown,
    ): Promise<void> => {
      if (countedInDatabase === undefined || project === undefined || actor === undefined) return;
      const brokeOff = req.errored !== null && !req.complete;
      if (!brokeOff && !isOurFault(reason)) return;
      await limits.giveBack(
        auditContextOf({ project, actor, request: { id: requestId } }),
        countedInDatabase,
        { address: ip },
        reason,
      );
    },
    /**
     * Counts calls of a request beyond its first, for the data limit. All are counted or none, including the first: a refused request that
     * used up what remains could never succeed. Throws Failure 429, with a `Retry-After` for all of them, and `tooMany` for more than the limit allows.
     */
    charge: (context: RequestContext, calls: number, tooMany: ErrorType): void => {
      const { actor, deferredRefusal } = context;
      if (config.rateLimit === 'off' || actor === undefined) return;
      context.deferredRefusal = undefined;
      const maxCalls = dataRate(kindOf(actor)).count;
      if (calls >= maxCalls)
        throw new Failure(tooMany, {
          message: `The request makes ${calls + 1} calls, and the rate limit has ${maxCalls}. Make several requests of it.`,
        });
      const due = deferredRefusal === undefined ? calls : calls + 1;
      if (due === 0) return;
      const state = countData(context, due);
      if (state?.allowed === false && deferredRefusal === undefined) countData(context, -1);
      settle(context, 'data', state);
    },
    /**
     * Counts a key, session, JWT, project or route that does not exist: scanners try many. Throws Failure 429 instead of the error of that.
     * Valid ones are never counted, so that an address shared by many callers stays open to them.
     */
    demandFewRefused: (context: RequestContext): void => {
      if (config.rateLimit === 'off') return;
      const rate = config.rateLimits.refused ?? limitClasses.refused.address;
      const state = count(`refused ${addressKey(context.ip)}`, rate);
      if (!state.allowed) settle(context, 'refused', state);
    },
    /** Counts requests that need no project header, by address. Throws Failure 429. */
    demandOperation: (context: RequestContext): void => {
      if (config.rateLimit === 'off') return;
      const rate = config.rateLimits.operations ?? limitClasses.operations.address;
      const state = count(`operations ${addressKey(context.ip)}`, rate);
      if (!state.allowed) settle(context, 'operations', state);
    },
    /** Sets the headers of the limit that was counted. */
    setHeaders: (context: RequestContext): void => setLimitHeaders(context, clock.now()),
  };
}

/** Sets the widespread `X-RateLimit-` headers and those of the IETF draft. */
function setLimitHeaders({ ctx, response, limit }: RequestContext, nowMs: number): void {
  if (limit === undefined) return;
  const { state, name } = limit;
  // A handler may have refused for a limit of its own, such as the account's: nothing remains then, until `Retry-After`.
  const refused = ctx.status === 429;
  const remaining = refused ? 0 : state.remaining;
  const seconds = refused ? Number(response.get('Retry-After')) : state.resetSeconds;
  response.set('X-RateLimit-Limit', String(state.limit));
  response.set('X-RateLimit-Remaining', String(remaining));
  response.set('X-RateLimit-Reset', String(Math.ceil(nowMs / 1000) + seconds));
  response.set('RateLimit-Policy', `"${name}";q=${state.limit};w=${state.windowSeconds}`);
  response.set('RateLimit', `"${name}";r=${remaining};t=${seconds}`);
}

/** The limits of requests. */
export type RequestLimit = ReturnType<typeof createRequestLimit>;
