import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import { isChannel, unknownChannels } from './channels.js';
import { type PayloadFilter, parseFilter } from './queries.js';

/** A subscription of a client to channels, with optional queries. */
export interface Subscription {
  readonly id: string;
  readonly channels: readonly string[];
  readonly queries: readonly string[];
  readonly filter: PayloadFilter | undefined;
  /** Number of conditions and values in its queries. */
  readonly conditions: number;
  /** Approximate memory in bytes. */
  readonly bytes: number;
}

/** Index of subscribed channels. */
interface Channels {
  add(channel: string): void;
  remove(channel: string): void;
}

const id = z.string().min(1).max(realtimeLimits.id);
const subscribeShape = z
  .array(
    z.object({
      subscriptionId: id.optional(),
      channels: z.array(z.string().min(1).max(realtimeLimits.channel)).min(1).max(realtimeLimits.channels),
      queries: z.array(z.string()).max(realtimeLimits.conditions).default([]),
    }),
  )
  .min(1)
  .max(realtimeLimits.subscriptions);
const unsubscribeShape = z
  .array(z.object({ subscriptionId: id }))
  .min(1)
  .max(realtimeLimits.subscriptions);

const wrong = (message: string) => new Failure('general_argument_invalid', { message });

const sum = (all: Iterable<Subscription>, of: (one: Subscription) => number) =>
  [...all].reduce((total, one) => total + of(one), 0);

/** Takes bytes of the quota, or gives back a negative number. Returns false, and takes nothing, if they exceed it. */
export type TakeBytes = (bytes: number) => boolean;

/** The subscriptions of a socket. An invalid message changes none of them. */
export class Subscriptions {
  readonly #byId = new Map<string, Subscription>();
  readonly #takeBytes: TakeBytes;
  readonly #channels: Channels;
  /** Steps needed to match an event against the subscriptions. */
  #steps = 0;

  constructor(takeBytes: TakeBytes, channels: Channels) {
    this.#takeBytes = takeBytes;
    this.#channels = channels;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Subscriptions to at least one of the channels. */
  within(channels: ReadonlySet<string>): Subscription[] {
    return [...this.#byId.values()].filter((one) => one.channels.some((channel) => channels.has(channel)));
  }

  /**
   * Adds the subscriptions of a message; one with a known id replaces the earlier one. Throws Failure, with status 503 if the memory quota
   * is used up.
   */
  add(data: unknown, newId: () => string): Subscription[] {
    const parsed = subscribeShape.safeParse(data);
    if (!parsed.success) throw wrong('subscribe takes a list of subscriptions, each with channels.');
    const unknown = parsed.data.flatMap(({ channels }) => channels).filter((channel) => !isChannel(channel));
    if (unknown.length > 0) throw unknownChannels(unknown);
    const added = parsed.data.map(({ subscriptionId, channels, queries }) =>
      subscription(subscriptionId ?? newId(), [...new Set(channels)], queries),
    );
    const after = new Map([...this.#byId, ...added.map((one) => [one.id, one] as const)]);
    requireBounds([...after.values()]);
    if (!this.#takeBytes(sum(after.values(), ({ bytes }) => bytes) - sum(this.#byId.values(), ({ bytes }) => bytes)))
      throw new Failure('general_unavailable', { message: 'There are too many subscriptions.' });
    for (const one of added) {
      this.#drop(one.id);
      this.#byId.set(one.id, one);
      for (const channel of one.channels) this.#channels.add(channel);
    }
    this.#count();
    return added;
  }

  /** Removes the subscriptions of a message. The result says for each if it existed. Throws Failure. */
  remove(data: unknown): { readonly subscriptionId: string; readonly removed: boolean }[] {
    const parsed = unsubscribeShape.safeParse(data);
    if (!parsed.success) throw wrong('unsubscribe takes a list of objects with a subscriptionId.');
    const before = sum(this.#byId.values(), ({ bytes }) => bytes);
    const removed = parsed.data.map(({ subscriptionId }) => ({
      subscriptionId,
      removed: this.#drop(subscriptionId),
    }));
    this.#takeBytes(sum(this.#byId.values(), ({ bytes }) => bytes) - before);
    this.#count();
    return removed;
  }

  /** Removes all subscriptions. */
  clear(): void {
    this.#takeBytes(-sum(this.#byId.values(), ({ bytes }) => bytes));
    for (const id of [...this.#byId.keys()]) this.#drop(id);
    this.#count();
  }

  #drop(id: string): boolean {
    for (const channel of this.#byId.get(id)?.channels ?? []) this.#channels.remove(channel);
    return this.#byId.delete(id);
  }

  #count(): void {
    this.#steps = sum(this.#byId.values(), ({ channels, conditions }) => channels.length + conditions);
  }
}

/** Approximate overhead of an object and its list entries, in bytes. */
const objectBytes = 200;

function subscription(id: string, channels: readonly string[], queries: readonly string[]): Subscription {
  const { filter, conditions } = parseFilter(queries);
  const texts = [id, ...channels, ...queries].reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
  // The parsed values of queries are kept in addition to their texts.
  const values = queries.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
  const bytes = texts + values + objectBytes * (1 + channels.length + conditions);
  return { id, channels, queries, filter, conditions, bytes };
}

/** Throws Failure if a socket exceeds its limits. */
function requireBounds(all: readonly Subscription[]): void {
  if (all.length > realtimeLimits.subscriptions)
    throw wrong(`A socket has at most ${realtimeLimits.subscriptions} subscriptions.`);
  if (sum(all, ({ channels }) => channels.length) > realtimeLimits.channels)
    throw wrong(`A socket has at most ${realtimeLimits.channels} channels.`);
  if (sum(all, ({ conditions }) => conditions) > realtimeLimits.conditionsOfSocket)
    throw wrong(
      `The subscriptions of a socket have at most ${realtimeLimits.conditionsOfSocket} conditions and values.`,
    );
  if (sum(all, ({ bytes }) => bytes) > realtimeLimits.subscriptionBytes)
    throw wrong('The subscriptions of the socket are too long: shorten their queries, or open a second socket.');
}
