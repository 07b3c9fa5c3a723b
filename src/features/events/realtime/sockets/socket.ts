import type { User } from '#src/contract/actor.js';
import { realtimeLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { printJson } from '#src/platform/json.js';
import { credentialOf, type ReaderCredential } from '../../readers/index.js';
import type { SubscriptionShare } from '../subscriptions/room.js';
import { Subscriptions } from '../subscriptions/subscriptions.js';
import type { Backlog } from './backlog.js';
import type { ChannelIndex } from './channel-index.js';

/** Why a socket is closed: codes of RFC 6455, section 7.4. */
export const closeCodes = { goingAway: 1001, unsupported: 1003, policy: 1008, tryAgainLater: 1013 } as const;

/** A message: its text, the bytes of it, or these in two parts, of which many messages share the first. */
export type Message = string | Buffer | { readonly head: Buffer; readonly tail: Buffer };

/** A connection to a client. */
export interface Connection {
  send(message: Message): void;
  /** Bytes that were sent and have not left yet. */
  buffered(): number;
  /** Of these, those that are not of a long message that is on its way. */
  waiting(): number;
  close(code: number, reason: string): void;
  /** Ends it at once, with whatever has not left yet. */
  drop(): void;
}

/** What a socket shares with others of its process. */
interface SocketDeps {
  readonly backlog: Backlog;
  readonly share: SubscriptionShare;
  readonly index: ChannelIndex<RealtimeSocket>;
}

/** A client of a project with what it subscribes to. */
export class RealtimeSocket {
  readonly project: Project;
  readonly subscriptions: Subscriptions;
  readonly #connection: Connection;
  readonly #backlog: Backlog;
  #user: User | undefined;
  #credential: ReaderCredential | undefined;
  #isOpen = true;
  #closedWith: number | undefined;
  /** When the credential was found to count last, on the monotonic clock. */
  checkedAt = 0;

  constructor(project: Project, connection: Connection, { backlog, share, index }: SocketDeps) {
    this.project = project;
    this.#connection = connection;
    this.#backlog = backlog;
    this.subscriptions = new Subscriptions(share, {
      add: (channel) => index.add(channel, this),
      remove: (channel) => index.remove(channel, this),
    });
  }

  /** The code with which this side has closed it; a client that reads nothing never learns it. */
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

  /** The socket is that of a user from now on, at a time on the monotonic clock. */
  identify(user: User, now: number): void {
    this.#user = user;
    this.#credential = credentialOf(user);
    this.checkedAt = now;
  }

  /** Sends a message, or closes the connection of a client that does not read. Returns whether it was sent. */
  send(message: Message): boolean {
    if (!this.#isOpen) return false;
    if (this.#connection.waiting() > realtimeLimits.bufferedBytes) {
      this.close(closeCodes.tryAgainLater, 'The client reads too slowly.');
      return false;
    }
    this.#connection.send(message);
    this.#backlog.note(this);
    return true;
  }

  /** Bytes that wait to be read by the client. */
  buffered(): number {
    return this.#connection.buffered();
  }

  sendValue(type: string, data?: unknown): void {
    this.send(printJson(data === undefined ? { type } : { type, data }));
  }

  /** Refuses a message; the connection stays. */
  refuse(message: string): void {
    this.sendValue('error', { code: closeCodes.unsupported, message });
  }

  /** Ends the connection. One client library looks at the message for the reason, the other at the code of the close. */
  close(code: number, message: string): void {
    if (!this.#isOpen) return;
    if (code === closeCodes.policy) this.sendValue('error', { code, message });
    this.#isOpen = false;
    this.#closedWith = code;
    this.#connection.close(code, message);
  }

  /** Cuts off a client that does not read, with what waits for it. */
  drop(): void {
    this.#isOpen = false;
    this.#closedWith ??= closeCodes.tryAgainLater;
    this.#connection.drop();
  }

  /** The client has closed the connection. */
  left(): void {
    this.#isOpen = false;
    this.#backlog.forget(this);
    this.subscriptions.clear();
  }
}
