import type { WireActor } from '#src/contract/actor.js';
import { type ErrorType, Failure, isOurFault } from '#src/contract/errors.js';
import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { Limits } from '#src/features/index.js';
import { addressKey, createMemoryLimiter, type LimitState } from '#src/platform/admission/limiter.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { RequestContext } from './request-context.js';

/** Limits the rate of requests. */
export interface RequestLimit {
  /**
   * Throws Failure 429 if the caller has exceeded its limit. Limits in the database are checked asynchronously. Server keys always use
   * the limit of keys; other callers use the class of the operation. If an operation charges its calls itself, the refusal is deferred
   * until the number of calls is known, because `Retry-After` depends on it.
   */
  consume(context: RequestContext): Promise<void> | undefined;
  /** Refunds a call that failed through a fault of the service, or whose client disconnected before the body was read. */
  giveBack(context: RequestContext, reason: unknown): Promise<void>;
  /**
   * Counts the calls of a request beyond its first against the data limit. All or nothing, including the first: a refused request must
   * not use up the remaining quota. Throws Failure 429 with a `Retry-After` that covers all calls, or `tooMany` if the calls exceed the
   * whole limit.
   */
  charge(context: RequestContext, calls: number, tooMany: ErrorType): void;
  /**
   * Counts requests with an unknown key, session, JWT, project or route, because scanners try many. Throws Failure 429 instead of the
   * original error. Valid requests are not counted, so that an address shared by many callers is not blocked.
   */
  requireFewRefused(context: RequestContext): void;
  /** Counts requests that need no project header, by address. Throws Failure 429. */
  requireOperation(context: RequestContext): void;
  /** Sets the headers of the limit that was counted for the request. */
  setHeaders(context: RequestContext): void;
}

interface Deps extends Pick<Runtime, 'db' | 'config'> {
  readonly limits: Limits;
  /** Balancers ask each process whether it is ready, so each counts these calls alone. */
  readonly countOperations: (key: string, rate: Rate) => LimitState;
}

/** Counts requests against their limit class before expensive work. */
export function createRequestLimit(
  { db, config, clock }: Pick<Runtime, 'db' | 'config' | 'clock'>,
  limits: Limits,
): RequestLimit {
  const deps: Deps = { db, config, limits, countOperations: createMemoryLimiter(() => clock.monotonic()) };
  return {
    ...bind(deps, { consume, giveBack, charge }),
    requireFewRefused: (context) => requireByAddress(deps, context, 'refused'),
    requireOperation: (context) => requireByAddress(deps, context, 'operations'),
    setHeaders: (context) => setLimitHeaders(context, clock.now()),
  };
}

function consume(deps: Deps, context: RequestContext): Promise<void> | undefined {
  const { calls: name = 'none', charges } = context.operation?.declaration.limits ?? {};
  if (!deps.config.rateLimit || name === 'none') return undefined;
  const shipped: LimitClass = limitClasses[name];
  if (context.actor?.kind !== 'key' && shipped.user === undefined) return requireInDatabase(deps, context, name);
  const state = countData(deps, context);
  if (state?.allowed === false && charges === true) context.deferredRefusal = refuse(state);
  else requireAllowed(context, 'data', state);
  return undefined;
}

async function requireInDatabase({ db, limits }: Deps, context: RequestContext, name: LimitName): Promise<void> {
  const { project, actor, ip, requestId, waits } = context;
  if (project === undefined || actor === undefined) return;
  const facts = { project, actor, request: { id: requestId, waits } };
  const state = await db.work(auditContextOf(facts), (unit) => limits.take(unit, name, 'address', ip));
  if (state?.allowed) context.countedInDatabase = name;
  requireAllowed(context, name, state);
}

function requireAllowed(context: RequestContext, name: string, state: LimitState | undefined): void {
  if (state === undefined) return;
  context.limit = { name, state };
  if (!state.allowed) throw refuse(state);
}

function refuse({ retryAfter }: LimitState): Failure {
  return new Failure('general_rate_limit_exceeded', { retryAfter });
}

function countData(deps: Deps, { project, actor, ip }: RequestContext, calls = 1): LimitState | undefined {
  if (project === undefined || actor === undefined) return undefined;
  const key = actor.kind === 'guest' ? addressKey(ip) : actor.id;
  return deps.limits.memory.count(`${project.id} ${kindOf(actor)} ${key}`, dataRate(deps, actor), calls);
}

function kindOf(actor: WireActor) {
  return actor.kind === 'guest' ? 'address' : actor.kind;
}

function dataRate({ config }: Deps, actor: WireActor): Rate {
  return config.rateLimits.data ?? limitClasses.data[kindOf(actor)];
}

async function giveBack({ limits }: Deps, context: RequestContext, reason: unknown): Promise<void> {
  const { countedInDatabase, project, actor, ip, requestId, req } = context;
  if (countedInDatabase === undefined || project === undefined || actor === undefined) return;
  const brokeOff = req.errored !== null && !req.complete;
  if (!brokeOff && !isOurFault(reason)) return;
  const by = auditContextOf({ project, actor, request: { id: requestId } });
  await limits.giveBack(by, countedInDatabase, { address: ip }, reason);
}

function charge(deps: Deps, context: RequestContext, calls: number, tooMany: ErrorType): void {
  const { actor, deferredRefusal } = context;
  if (!deps.config.rateLimit || actor === undefined) return;
  context.deferredRefusal = undefined;
  const maxCalls = dataRate(deps, actor).count;
  if (calls >= maxCalls)
    throw new Failure(tooMany, {
      message: `The request makes ${calls + 1} calls, and the rate limit has ${maxCalls}. Make several requests of it.`,
    });
  if (deferredRefusal === undefined) {
    if (calls === 0) return;
    // Returns the first call, because a process admits more calls than its part only if nothing of the part is used.
    countData(deps, context, -1);
  }
  requireAllowed(context, 'data', countData(deps, context, calls + 1));
}

function requireByAddress(
  { config, limits, countOperations }: Deps,
  context: RequestContext,
  name: 'refused' | 'operations',
): void {
  if (!config.rateLimit) return;
  const rate = config.rateLimits[name] ?? limitClasses[name].address;
  const key = `${name} ${addressKey(context.ip)}`;
  const state = name === 'operations' ? countOperations(key, rate) : limits.memory.count(key, rate);
  if (!state.allowed) requireAllowed(context, name, state);
}

/** Sets the common `X-RateLimit-*` headers and those of the IETF draft. */
function setLimitHeaders({ ctx, response, limit }: RequestContext, nowMs: number): void {
  if (limit === undefined) return;
  const { state, name } = limit;
  // A handler may return 429 for its own limit, such as one of the account. Then nothing remains until `Retry-After`.
  const refused = ctx.status === 429;
  const remaining = refused ? 0 : state.remaining;
  const seconds = refused ? Number(response.get('Retry-After')) : state.resetSeconds;
  response.set('X-RateLimit-Limit', String(state.limit));
  response.set('X-RateLimit-Remaining', String(remaining));
  response.set('X-RateLimit-Reset', String(Math.ceil(nowMs / 1000) + seconds));
  response.set('RateLimit-Policy', `"${name}";q=${state.limit};w=${state.windowSeconds}`);
  response.set('RateLimit', `"${name}";r=${remaining};t=${seconds}`);
}
