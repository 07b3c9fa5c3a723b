import type { Context } from 'koa';
import type { WireActor } from '#src/contract/actor.js';
import type { Operation } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { LimitState } from '#src/platform/limiter.js';

/** What is known of one request while it is answered; filled in as it goes down. */
export interface Exchange {
  readonly ctx: Context;
  readonly requestId: string;
  /** Address of the client, behind trusted proxies too. */
  readonly ip: string;
  /** Monotonic milliseconds. */
  readonly started: number;
  operation?: Operation;
  project?: Project;
  actor?: WireActor;
  /** Where the caller stands in the limit that was counted. */
  limit?: { readonly name: string; readonly state: LimitState };
  /** Set when the request came from a page of another origin that the project allows. */
  allowedOrigin?: string;
  errorType?: string;
}

/** The exchange of a Koa context. */
export function exchangeOf(ctx: Context): Exchange {
  return ctx.state.exchange;
}
