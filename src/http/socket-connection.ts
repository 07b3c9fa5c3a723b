import type { WebSocket } from 'ws';
import { realtimeLimits } from '#src/contract/limits.js';
import type { ClientConnection } from '#src/features/index.js';

type Message = Parameters<ClientConnection['send']>[0];

interface Fragment {
  readonly part: string | Buffer;
  readonly isLast: boolean;
}

/**
 * Sends messages over a socket. Sends a long message in fragments (RFC 6455 §5.4), each after the client has read the previous one. This
 * lets pings through and distinguishes slow clients from stalled ones.
 */
export class SocketConnection implements ClientConnection {
  readonly #ws: WebSocket;
  readonly #onRead: () => void;
  /** Messages queued behind the one that is being sent in fragments. */
  readonly #waiting: Message[] = [];
  #waitingBytes = 0;
  #fragments: Iterator<Fragment> | undefined;
  /** Unsent bytes of the message that is being sent. */
  #leftBytes = 0;

  /** Calls `onRead` when the client has read a fragment. */
  constructor(ws: WebSocket, onRead: () => void) {
    this.#ws = ws;
    this.#onRead = onRead;
  }

  send(message: Message): void {
    const bytes = bytesOf(message);
    if (this.#fragments === undefined && bytes <= realtimeLimits.fragmentBytes) {
      partsOf(message).forEach((part, at, parts) => {
        this.#ws.send(part, { binary: false, fin: at === parts.length - 1 });
      });
      return;
    }
    this.#waiting.push(message);
    this.#waitingBytes += bytes;
    if (this.#fragments === undefined) this.#sendNext();
  }

  buffered(): number {
    return this.waiting() + this.#leftBytes;
  }

  waiting(): number {
    return this.#ws.bufferedAmount + this.#waitingBytes;
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, reason.slice(0, 100));
    // Disconnects a client that does not answer or read.
    setTimeout(() => this.#ws.terminate(), realtimeLimits.closeMs).unref();
  }

  drop(): void {
    this.#ws.terminate();
  }

  #sendNext(): void {
    const fragment = this.#nextFragment();
    if (fragment === undefined) return;
    this.#leftBytes -= Buffer.byteLength(fragment.part);
    this.#ws.send(fragment.part, { binary: false, fin: fragment.isLast }, (error) => {
      // Later messages cannot be sent either.
      if (error) return;
      this.#onRead();
      this.#sendNext();
    });
  }

  #nextFragment(): Fragment | undefined {
    for (;;) {
      const next = this.#fragments?.next();
      if (next !== undefined && !next.done) return next.value;
      const message = this.#waiting.shift();
      this.#fragments = message === undefined ? undefined : fragmentsOf(message);
      if (message === undefined) return undefined;
      this.#leftBytes = bytesOf(message);
      this.#waitingBytes -= this.#leftBytes;
    }
  }
}

function partsOf(message: Message): (string | Buffer)[] {
  return typeof message === 'object' && 'head' in message ? [message.head, message.tail] : [message];
}

function bytesOf(message: Message): number {
  return partsOf(message).reduce((bytes, part) => bytes + Buffer.byteLength(part), 0);
}

function* fragmentsOf(message: Message): Generator<Fragment> {
  const parts = partsOf(message);
  for (const [index, part] of parts.entries()) {
    const isLastPart = index === parts.length - 1;
    if (typeof part === 'string') yield { part, isLast: isLastPart };
    else
      for (let at = 0; at < part.length; at += realtimeLimits.fragmentBytes) {
        const end = at + realtimeLimits.fragmentBytes;
        yield { part: part.subarray(at, end), isLast: isLastPart && end >= part.length };
      }
  }
}
