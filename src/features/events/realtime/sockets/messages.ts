import { realtimeLimits } from '#src/contract/limits.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { StoredEvent } from '../../feed/index.js';
import type { Topics } from '../subscriptions/channels.js';
import { parsePayload } from '../subscriptions/queries.js';
import type { Subscription } from '../subscriptions/subscriptions.js';
import type { Message } from './socket.js';

interface PrintedEvent {
  /** The message up to its subscriptions. A Buffer if it is long, shared by all sockets. */
  readonly head: string | Buffer;
  /** Messages by subscription ids. Many sockets use the same ids. */
  readonly whole: Map<string, Message>;
  /** Bytes of these messages, without shared heads. */
  bytes: number;
  payload?: Readonly<Record<string, unknown>>;
}

/** Characters from which a head is sent as a separate frame, so that its bytes are in memory once. */
const longHead = 16_384;

/** The messages of one event. They differ in the payload for the reader and in the subscription ids. */
export class Messages {
  readonly #event: StoredEvent;
  readonly #topics: Topics;
  readonly #byData = new Map<string, PrintedEvent>();

  constructor(event: StoredEvent, topics: Topics) {
    this.#event = event;
    this.#topics = topics;
  }

  /** The message; undefined if no subscription's queries match. */
  to(subscriptions: readonly Subscription[], data: string): Message | undefined {
    const entry = this.#byData.get(data) ?? this.#print(data);
    const ids = subscriptions.flatMap(({ id, filter }) => {
      if (filter === undefined) return [id];
      entry.payload ??= parsePayload(data);
      return filter(entry.payload) ? [id] : [];
    });
    if (ids.length === 0) return undefined;
    const names = JSON.stringify(ids);
    const known = entry.whole.get(names);
    if (known !== undefined) return known;
    const { head } = entry;
    const own = Buffer.from(`${typeof head === 'string' ? head : ''}${names}}}`);
    const message: Message = typeof head === 'string' ? own : { head, tail: own };
    if (entry.bytes + own.length > realtimeLimits.printedBytes) {
      entry.whole.clear();
      entry.bytes = 0;
    }
    entry.whole.set(names, message);
    entry.bytes += own.length;
    return message;
  }

  #print(data: string): PrintedEvent {
    const { id, createdAt, sequence } = this.#event;
    const { names: events, channels } = this.#topics;
    const facts = JSON.stringify({ id, events, channels, timestamp: toWireInstant(createdAt), sequence });
    const head = `{"type":"event","data":${facts.slice(0, -1)},"payload":${data},"subscriptions":`;
    const entry: PrintedEvent = {
      head: head.length > longHead ? Buffer.from(head) : head,
      whole: new Map(),
      bytes: 0,
    };
    this.#byData.set(data, entry);
    return entry;
  }
}
