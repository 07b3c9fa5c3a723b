import type { Reading, Waiter } from '#src/contract/reading.js';
import { addressKey } from '#src/platform/limiter.js';
import type { RequestContext } from './request-context.js';

/** The client and the account that a request's lists are read for. It is made for every request, so it computes nothing before it is used. */
export class RequestReading implements Reading, Waiter {
  readonly #context: RequestContext;
  #account: string | undefined;
  #listeners: Set<() => void> | undefined;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  get account(): string {
    this.#account ??= this.#nameOf();
    return this.#account;
  }

  #nameOf(): string {
    const { project, actor, ip } = this.#context;
    const name =
      actor === undefined || actor.kind === 'guest' ? `guest ${addressKey(ip)}` : `${actor.kind} ${actor.id}`;
    // A guest is one account in all projects.
    return actor === undefined || actor.kind === 'guest' ? name : `${project?.id} ${name}`;
  }

  get waiter(): Waiter {
    return this;
  }

  get isGone(): boolean {
    return this.#context.req.socket.destroyed;
  }

  onGone(listener: () => void): () => void {
    const listeners = this.#listeners ?? this.#listen();
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Adds one listener to the response for all listeners here: a GraphQL request reads many lists. */
  #listen(): Set<() => void> {
    const listeners = new Set<() => void>();
    this.#listeners = listeners;
    this.#context.ctx.res.once('close', () => {
      for (const listener of [...listeners]) listener();
    });
    return listeners;
  }
}
