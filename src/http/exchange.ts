import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { WireActor } from '#src/contract/actor.js';
import type { Operation } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { LimitState } from '#src/platform/limiter.js';
import type { Answer } from './answer.js';

/** What is known of one request while it is answered; filled in as it goes down. */
export class Exchange {
  readonly ctx: Context;
  readonly req: IncomingMessage;
  readonly requestId: string;
  /** Address of the client, behind trusted proxies too. */
  readonly ip: string;
  /** Monotonic milliseconds. */
  readonly started: number;
  readonly answer: Answer;
  operation: Operation | undefined;
  /** Of the path. */
  params: Readonly<Record<string, string>> = {};
  project: Project | undefined;
  actor: WireActor | undefined;
  /** Where the caller stands in the limit that was counted. */
  limit: { readonly name: string; readonly state: LimitState } | undefined;
  /** Set when the request came from a page of another origin that the project allows. */
  allowedOrigin: string | undefined;
  errorType: string | undefined;

  constructor(ctx: Context, known: Pick<Exchange, 'requestId' | 'ip' | 'started' | 'answer'>) {
    this.ctx = ctx;
    this.req = ctx.req;
    this.requestId = known.requestId;
    this.ip = known.ip;
    this.started = known.started;
    this.answer = known.answer;
  }
}
