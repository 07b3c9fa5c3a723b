import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type Koa from 'koa';
import type { WireActor } from '#src/contract/actor.js';
import type { HtmlPage } from '#src/contract/browser.js';
import type { Failure } from '#src/contract/errors.js';
import type { EventStream } from '#src/contract/event-stream.js';
import { requestIdPattern } from '#src/contract/headers.js';
import type { LimitName } from '#src/contract/limits.js';
import type { Operation, Waits } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { LimitState } from '#src/platform/admission/limiter.js';
import type { OpenBudget } from '#src/platform/admission/response-budget.js';
import type { Runtime } from '#src/platform/index.js';
import { createClientAddress } from './client-address.js';
import { ResponseBuilder } from './response-builder.js';
import { securityHeaders } from './security-headers.js';

/** The type of `ctx.state`. */
export interface AppState {
  context: RequestContext;
}

/** Middleware of this application. */
export type Middleware = Koa.Middleware<AppState>;

/** Koa's context of a request to this application. */
export type AppContext = Koa.ParameterizedContext<AppState>;

/** The state of one request. Each middleware adds its results. */
export class RequestContext {
  readonly ctx: AppContext;
  readonly req: IncomingMessage;
  readonly requestId: string;
  /** The address of the client, resolved behind trusted proxies. */
  readonly ip: string;
  /** Monotonic milliseconds. */
  readonly started: number;
  readonly response: ResponseBuilder;
  /** The deadline for waiting, shared by all units of work of the request. */
  readonly waits: Waits = {};
  operation: Operation | undefined;
  /** Path parameters. */
  params: Readonly<Record<string, string>> = {};
  project: Project | undefined;
  actor: WireActor | undefined;
  /** The session secret that the caller presented. */
  presentedSession: string | null = null;
  /** The caller's state in the counted limit. */
  limit: { readonly name: string; readonly state: LimitState } | undefined;
  /** The byte budget of the response. */
  budget: OpenBudget | undefined;
  /** The deferred rate-limit refusal of an operation that charges its calls itself. Thrown unless the operation does so. */
  deferredRefusal: Failure | undefined;
  /** The limit class counted in the database by client address. */
  countedInDatabase: LimitName | undefined;
  /** The origin of the caller, if cross-origin and allowed by the project. */
  allowedOrigin: string | undefined;
  /** The origin of the caller, if refused by the project or, for a preflight, by all projects. */
  refusedOrigin: string | undefined;
  errorType: string | undefined;
  /** The trace of the request, if it is traced. */
  traceId: string | undefined;
  /** The permission that a refused caller lacks, for the log. */
  missing: string | undefined;
  /** The reply, if it is an event stream. */
  stream: EventStream | undefined;
  /** The reply, if it is a file. `stream` is undefined for HEAD; `leave` releases the download slot. */
  file: { readonly stream: Readable | undefined; readonly leave: () => void } | undefined;
  /** The page of the application that errors redirect to, if any. */
  failurePage: URL | undefined;
  /** The page that shows the error, if the handler has rendered one. */
  errorPage: HtmlPage | undefined;
  /** The page of the application that a login redirects to, if any. */
  successPage: URL | undefined;

  constructor(ctx: AppContext, input: Pick<RequestContext, 'requestId' | 'ip' | 'started' | 'response'>) {
    this.ctx = ctx;
    this.req = ctx.req;
    this.requestId = input.requestId;
    this.ip = input.ip;
    this.started = input.started;
    this.response = input.response;
  }
}

/** Creates the context of each request: id, client address, start time, and a response with the common headers. */
export function createRequestContext({
  clock,
  config,
  random,
}: Pick<Runtime, 'clock' | 'config' | 'random'>): Middleware {
  const clientAddress = createClientAddress(config.trustedProxies);
  const fixedHeaders = securityHeaders(config).flat();
  return (ctx, next) => {
    const given = ctx.req.headers['x-request-id'];
    const id = typeof given === 'string' && requestIdPattern.test(given) ? given : random.id();
    ctx.state.context = new RequestContext(ctx, {
      requestId: id,
      ip: clientAddress(ctx.req),
      started: clock.monotonic(),
      response: new ResponseBuilder(fixedHeaders, id),
    });
    return next();
  };
}
