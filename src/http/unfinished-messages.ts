import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { realtimeLimits } from '#src/contract/limits.js';
import { addressKey } from '#src/platform/limiter.js';
import { Tally } from '#src/platform/tally.js';

/** Bytes of a frame of a client, whose header has a mask (RFC 6455, section 5.2). */
const frameBytes = (payload: number) => payload + (payload < 126 ? 6 : payload < 65_536 ? 8 : 14);

/** A fragment keeps the whole part of the stream in memory that it came with, also what pings take of it, unless the part is as small as this. */
const smallPart = 1024;

/**
 * Bounds what sockets hold of messages that have not arrived whole: a client may begin one on every socket, and end none. Each socket has some
 * bytes for itself; what is beyond counts for its address and for all.
 */
export class UnfinishedMessages {
  readonly #held = new Tally();

  /** Counts what arrives for a socket from now on, and calls `refuse` once where its address or the process holds too much. */
  watch(ws: WebSocket, socket: Duplex, address: string, refuse: () => void): void {
    const name = addressKey(address);
    let part = 0;
    let own = 0;
    let counted = 0;
    let isRefused = false;
    const hold = (bytes: number): void => {
      own = Math.max(0, bytes);
      const beyond = Math.max(0, own - realtimeLimits.unfinishedBytes);
      this.#held.add(name, beyond - counted);
      counted = beyond;
    };
    // Before the messages in the part are read, and after.
    socket.prependListener('data', ({ length }: Buffer) => {
      part = length;
      hold(own + length);
    });
    socket.on('data', () => {
      if (counted === 0 || isRefused || !this.#isFull(name)) return;
      isRefused = true;
      refuse();
    });
    // What is left after the end of a message came with the same part.
    ws.on('message', ({ length }: Buffer) => hold(Math.min(own - frameBytes(length), part)));
    const onSign = ({ length }: Buffer) => {
      if (part <= smallPart) hold(own - frameBytes(length));
    };
    ws.on('ping', onSign).on('pong', onSign);
    socket.once('close', () => hold(0));
  }

  #isFull(name: string): boolean {
    const { unfinishedBytesOfAddress, unfinishedBytesTogether } = realtimeLimits;
    return this.#held.of(name) > unfinishedBytesOfAddress || this.#held.all > unfinishedBytesTogether;
  }
}
