/** Index from channels to the sockets that subscribe to them. */
export class ChannelIndex<Socket> {
  /** Number of subscriptions by channel and socket. */
  readonly #sockets = new Map<string, Map<Socket, number>>();

  /** Adds a subscription of a socket to a channel. */
  add(channel: string, socket: Socket): void {
    const sockets = this.#sockets.get(channel) ?? new Map<Socket, number>();
    sockets.set(socket, (sockets.get(socket) ?? 0) + 1);
    this.#sockets.set(channel, sockets);
  }

  /** Removes a subscription of a socket to a channel. */
  remove(channel: string, socket: Socket): void {
    const sockets = this.#sockets.get(channel);
    const left = (sockets?.get(socket) ?? 1) - 1;
    if (left > 0) sockets?.set(socket, left);
    else sockets?.delete(socket);
    if (sockets?.size === 0) this.#sockets.delete(channel);
  }

  /** The sockets with a subscription to at least one of the channels. */
  subscribers(channels: Iterable<string>): Set<Socket> {
    const found = new Set<Socket>();
    for (const channel of channels) for (const socket of this.#sockets.get(channel)?.keys() ?? []) found.add(socket);
    return found;
  }
}
