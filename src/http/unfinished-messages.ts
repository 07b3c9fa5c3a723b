import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { realtimeLimits } from '#src/contract/limits.js';
import { addressKey } from '#src/platform/admission/limiter.js';
import { Quota } from '#src/platform/admission/quota.js';

/** Bytes of a client's frame, including its masked header (RFC 6455 §5.2). */
const frameBytes = (payload: number) => payload + (payload < 126 ? 6 : payload < 65_536 ? 8 : 14);

/** A fragment retains the whole chunk it arrived in, including pings, unless the chunk is at most this long. */
const smallPart = 1024;

/**
 * Bounds the memory for incomplete messages: a client could start one on each socket and never finish. Each socket has its own quota. Bytes
 * above it count against quotas of the address and of the process.
 */
export class UnfinishedMessages {
  readonly #held = new Quota({
    all: realtimeLimits.unfinishedBytesTogether,
    ofOwner: realtimeLimits.unfinishedBytesOfAddress,
  });

  /** Counts incoming bytes of a socket. Calls `refuse` once if the address or the process exceeds its quota. */
  watch(ws: WebSocket, socket: Duplex, address: string, refuse: () => void): void {
    const name = addressKey(address);
    let part = 0;
    let own = 0;
    let counted = 0;
    let isRefused = false;
    const hold = (bytes: number): void => {
      own = Math.max(0, bytes);
      const beyond = Math.max(0, own - realtimeLimits.unfinishedBytes);
      this.#held.force(name, beyond - counted);
      counted = beyond;
    };
    // The first listener runs before the messages in the chunk are parsed, the second after.
    socket.prependListener('data', ({ length }: Buffer) => {
      part = length;
      hold(own + length);
    });
    socket.on('data', () => {
      if (counted === 0 || isRefused || !this.#isFull(name)) return;
      isRefused = true;
      refuse();
    });
    // Bytes after the end of a message are part of the same chunk.
    ws.on('message', ({ length }: Buffer) => hold(Math.min(own - frameBytes(length), part)));
    const onSign = ({ length }: Buffer) => {
      if (part <= smallPart) hold(own - frameBytes(length));
    };
    ws.on('ping', onSign).on('pong', onSign);
    socket.once('close', () => hold(0));
  }

  #isFull(name: string): boolean {
    return this.#held.left(name) < 0 || this.#held.left() < 0;
  }
}
