import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type Koa from 'koa';
import type { WireActor } from '#src/contract/actor.js';
import type { Failure } from '#src/contract/errors.js';
import type { EventStream } from '#src/contract/event-stream.js';
import type { LimitName } from '#src/contract/limits.js';
import type { Operation, Waits } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { OpenRoom } from '#src/platform/answers.js';
import type { Runtime } from '#src/platform/index.js';
import type { LimitState } from '#src/platform/limiter.js';
import { createClientAddress } from './client-address.js';
import { requestId } from './request-id.js';
import { ResponseBuilder } from './response-builder.js';
import { securityHeaders } from './security-headers.js';

/** What `ctx.state` holds. */
export interface AppState {
  context: RequestContext;
}

/** Middleware of this application. */
export type Middleware = Koa.Middleware<AppState>;

/** Koa's context of a request to this application. */
export type AppContext = Koa.ParameterizedContext<AppState>;

/** The state of one request; each middleware adds what it finds out. */
export class RequestContext {
  readonly ctx: AppContext;
  readonly req: IncomingMessage;
  readonly requestId: string;
  /** Address of the client, behind trusted proxies too. */
  readonly ip: string;
  /** Monotonic milliseconds. */
  readonly started: number;
  readonly response: ResponseBuilder;
  /** Of all units of work of the request. */
  readonly waits: Waits = {};
  operation: Operation | undefined;
  /** Of the path. */
  params: Readonly<Record<string, string>> = {};
  project: Project | undefined;
  actor: WireActor | undefined;
  /** The session secret that the caller holds. */
  presentedSession: string | null = null;
  /** The caller's state in the limit that was counted. */
  limit: { readonly name: string; readonly state: LimitState } | undefined;
  /** The bytes that the response may have. */
  room: OpenRoom | undefined;
  /** The refusal of the first call of an operation that charges its calls itself; thrown unless it does. */
  deferredRefusal: Failure | undefined;
  /** The limit class that was counted in the database by the caller's address. */
  countedInDatabase: LimitName | undefined;
  /** The caller's origin, where it is another one and the project allows it. */
  allowedOrigin: string | undefined;
  errorType: string | undefined;
  /** The reply, where it goes on. */
  stream: EventStream | undefined;
  /** The reply, where it is a file: its bytes, none for a request by HEAD, and what gives its place back. */
  file: { readonly stream: Readable | undefined; readonly leave: () => void } | undefined;
  /** The page of the application that errors lead to, if any. */
  failurePage: URL | undefined;
  /** The page of the application that a login ends at, if any. */
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

/** Gives each request its context: id, client address, start, and a response with the headers that every response has. */
export function createRequestContext({
  clock,
  config,
  random,
}: Pick<Runtime, 'clock' | 'config' | 'random'>): Middleware {
  const clientAddress = createClientAddress(config.trustedProxies);
  const fixedHeaders = securityHeaders(config).flat();
  return (ctx, next) => {
    const id = requestId(ctx.req.headers['x-request-id'], random);
    ctx.state.context = new RequestContext(ctx, {
      requestId: id,
      ip: clientAddress(ctx.req),
      started: clock.monotonic(),
      response: new ResponseBuilder(fixedHeaders, id),
    });
    return next();
  };
}
