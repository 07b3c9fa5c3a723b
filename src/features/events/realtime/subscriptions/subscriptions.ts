import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import { type PayloadFilter, parseFilter } from './queries.js';

/** What a client wants to be told. */
export interface Subscription {
  readonly id: string;
  readonly channels: readonly string[];
  readonly queries: readonly string[];
  readonly filter: PayloadFilter | undefined;
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

/** The subscriptions of a socket. A message that is not valid changes none of them. */
export class Subscriptions {
  readonly #byId = new Map<string, Subscription>();

  all(): Iterable<Subscription> {
    return this.#byId.values();
  }

  /** Adds those of a message; one of a known id takes the place of the earlier. Throws Failure. */
  add(data: unknown, newId: () => string): Subscription[] {
    const parsed = subscribeShape.safeParse(data);
    if (!parsed.success) throw wrong('subscribe takes a list of subscriptions, each with channels.');
    const added = parsed.data.map(
      ({ subscriptionId, channels, queries }): Subscription => ({
        id: subscriptionId ?? newId(),
        channels: [...new Set(channels)],
        queries,
        filter: parseFilter(queries),
      }),
    );
    const after = new Map([...this.#byId, ...added.map((one) => [one.id, one] as const)]);
    if (after.size > realtimeLimits.subscriptions)
      throw wrong(`A socket has at most ${realtimeLimits.subscriptions} subscriptions.`);
    const channels = [...after.values()].reduce((sum, one) => sum + one.channels.length, 0);
    if (channels > realtimeLimits.channels) throw wrong(`A socket has at most ${realtimeLimits.channels} channels.`);
    for (const one of added) this.#byId.set(one.id, one);
    return added;
  }

  /** Removes those of a message, and tells of each whether there was one. Throws Failure. */
  remove(data: unknown): { readonly subscriptionId: string; readonly removed: boolean }[] {
    const parsed = unsubscribeShape.safeParse(data);
    if (!parsed.success) throw wrong('unsubscribe takes a list of objects with a subscriptionId.');
    return parsed.data.map(({ subscriptionId }) => ({ subscriptionId, removed: this.#byId.delete(subscriptionId) }));
  }
}
