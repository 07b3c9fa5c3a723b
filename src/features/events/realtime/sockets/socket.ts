import type { User } from '#src/contract/actor.js';
import { realtimeLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { printJson } from '#src/platform/text/json.js';
import { credentialOf, type ReaderCredential } from '../../readers/index.js';
import type { TakeBytes } from '../subscriptions/subscriptions.js';
import { Subscriptions } from '../subscriptions/subscriptions.js';
import type { Backlog } from './backlog.js';
import type { ChannelIndex } from './channel-index.js';

/** Close codes of sockets (RFC 6455, section 7.4). */
export const closeCodes = { goingAway: 1001, unsupported: 1003, policy: 1008, tryAgainLater: 1013 } as const;

/** A message: text, bytes, or bytes in two parts. Many messages share the same head. */
export type Message = string | Buffer | { readonly head: Buffer; readonly tail: Buffer };

/** A connection to a client. */
export interface ClientConnection {
  send(message: Message): void;
  /** Bytes that are queued but not sent yet. */
  buffered(): number;
  /** Like `buffered`, without the bytes of a long message that is being sent. */
  waiting(): number;
  close(code: number, reason: string): void;
  /** Closes it at once and discards unsent bytes. */
  drop(): void;
}

/** Objects shared by the sockets of a process. */
interface SocketDeps {
  readonly backlog: Backlog;
  readonly takeBytes: TakeBytes;
  readonly index: ChannelIndex<RealtimeSocket>;
}

/** A client of a project with its subscriptions. */
export class RealtimeSocket {
  readonly project: Project;
  readonly subscriptions: Subscriptions;
  readonly #connection: ClientConnection;
  readonly #backlog: Backlog;
  #user: User | undefined;
  #credential: ReaderCredential | undefined;
  #isOpen = true;
  #closedWith: number | undefined;
  /** Waiting bytes at the last check, if they were beyond the limit. */
  #behind: number | undefined;
  /** Time of the last successful credential check, on the monotonic clock. */
  checkedAt = 0;

  constructor(project: Project, connection: ClientConnection, { backlog, takeBytes, index }: SocketDeps) {
    this.project = project;
    this.#connection = connection;
    this.#backlog = backlog;
    this.subscriptions = new Subscriptions(takeBytes, {
      add: (channel) => index.add(channel, this),
      remove: (channel) => index.remove(channel, this),
    });
  }

  /** The close code used by this side. A client that does not read never gets it. */
  get closedWith(): number | undefined {
    return this.#closedWith;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get user(): User | undefined {
    return this.#user;
  }

  get credential(): ReaderCredential | undefined {
    return this.#credential;
  }

  /** Assigns the socket to a user. `now` is on the monotonic clock. */
  identify(user: User, now: number): void {
    this.#user = user;
    this.#credential = credentialOf(user);
    this.checkedAt = now;
  }

  /** Sends a message, or closes the connection of a client that is far behind. Returns true if the message was sent. */
  send(message: Message): boolean {
    if (!this.#isOpen) return false;
    if (this.#connection.waiting() > realtimeLimits.burstBytes) {
      this.#closeSlow();
      return false;
    }
    this.#connection.send(message);
    this.#backlog.note(this);
    return true;
  }

  /** Called once a second. Closes a client that is behind and has not caught up since the last call. */
  checkReading(): void {
    if (!this.#isOpen) return;
    const waiting = this.#connection.waiting();
    const before = this.#behind;
    this.#behind = waiting > realtimeLimits.bufferedBytes ? waiting : undefined;
    if (this.#behind !== undefined && before !== undefined && this.#behind >= before) this.#closeSlow();
  }

  /** Unsent bytes. */
  buffered(): number {
    return this.#connection.buffered();
  }

  sendValue(type: string, data?: unknown): void {
    this.send(printJson(data === undefined ? { type } : { type, data }));
  }

  /** Sends an error for a message. The connection stays open. */
  refuse(message: string): void {
    this.sendValue('error', { code: closeCodes.unsupported, message });
  }

  /** Closes the connection. Some client libraries read the reason from the `error` message, others from the close code. */
  close(code: number, message: string): void {
    if (!this.#isOpen) return;
    if (code === closeCodes.policy) this.sendValue('error', { code, message });
    this.#isOpen = false;
    this.#closedWith = code;
    this.#connection.close(code, message);
  }

  #closeSlow(): void {
    this.close(closeCodes.tryAgainLater, 'The client reads too slowly.');
  }

  /** Disconnects a client that does not read, and discards its unsent bytes. */
  drop(): void {
    this.#isOpen = false;
    this.#closedWith ??= closeCodes.tryAgainLater;
    this.#connection.drop();
  }

  /** Called when the connection is closed. */
  left(): void {
    this.#isOpen = false;
    this.#backlog.forget(this);
    this.subscriptions.clear();
  }
}
