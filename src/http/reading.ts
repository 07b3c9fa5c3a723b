import type { Reading, Waiter } from '#src/contract/reading.js';
import { addressKey } from '#src/platform/admission/limiter.js';
import type { RequestContext } from './request-context.js';

/** The client and the account of the lists that a request reads. Created for every request, so it computes values lazily. */
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
    // A guest is the same account in all projects.
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

  /** Registers one listener on the response for all listeners here, because a GraphQL request reads many lists. */
  #listen(): Set<() => void> {
    const listeners = new Set<() => void>();
    this.#listeners = listeners;
    this.#context.ctx.res.once('close', () => {
      for (const listener of [...listeners]) listener();
    });
    return listeners;
  }
}
