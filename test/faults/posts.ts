// What the receiver knows: each post that came in, and how it was answered.

import type { Random } from '../documents/random.js';
import { type Receiver, startReceiver } from '../harness/receiver.js';
import type { Json } from './journal.js';

/** A post that came in. */
export interface Post {
  /** In milliseconds. */
  readonly at: number;
  readonly status: number;
  readonly body: Json;
}

/** A receiver that keeps a journal. */
export interface KeptReceiver {
  readonly origin: Receiver['origin'];
  readonly posts: Post[];
}

/**
 * Starts a receiver that answers 500 to the first post of a fifth of the events. The second is taken: after another failure it would be
 * five minutes until the third.
 */
export async function startKeptReceiver(random: Random): Promise<KeptReceiver> {
  const receiver = await startReceiver();
  const posts: Post[] = [];
  const seen = new Set<unknown>();
  receiver.answer = (response) => {
    const body: Json = JSON.parse(String(receiver.calls.pop()?.body));
    const status = !seen.has(body.id) && random.chance(0.2) ? 500 : 200;
    seen.add(body.id);
    posts.push({ at: Date.now(), status, body });
    response.writeHead(status).end();
  };
  return { origin: receiver.origin, posts };
}
