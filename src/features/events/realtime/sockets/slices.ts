import { realtimeLimits } from '#src/contract/limits.js';
import type { StoredEvent } from '../../feed/index.js';
import { topicsOf } from '../subscriptions/channels.js';
import type { ChannelIndex } from './channel-index.js';
import { Messages } from './messages.js';
import type { RealtimeSocket } from './socket.js';

/** An event with some of the sockets subscribed to its channels. */
export interface Told {
  readonly event: StoredEvent;
  readonly channels: ReadonlySet<string>;
  readonly messages: Messages;
  readonly sockets: RealtimeSocket[];
}

/**
 * Splits events into slices, in order; each slice is sent without interruption. A slice has a limited number of steps, because clients
 * choose the number of sockets, subscriptions and conditions.
 */
export function* slicesOf(
  events: readonly StoredEvent[],
  index: ChannelIndex<RealtimeSocket>,
): Generator<readonly Told[]> {
  let slice: Told[] = [];
  let steps = 0;
  for (const event of events) {
    const topics = topicsOf(event.type, event.resource, changedIn(event));
    const channels = new Set(topics.channels);
    const messages = new Messages(event, topics);
    // Copying a long message takes longer than sending a short one.
    const stepsOfMessage = realtimeLimits.stepsOfMessage + Math.floor(event.data.length / 1000);
    let sockets: RealtimeSocket[] | undefined;
    for (const socket of index.subscribers(channels)) {
      if (sockets === undefined) {
        sockets = [];
        slice.push({ event, channels, messages, sockets });
      }
      sockets.push(socket);
      steps += stepsOfMessage + socket.subscriptions.steps;
      if (steps < realtimeLimits.stepsTogether) continue;
      yield slice;
      [slice, sockets, steps] = [[], undefined, 0];
    }
  }
  if (slice.length > 0) yield slice;
}

/** The changed parts of an account or team. */
function changedIn({ type, audience }: StoredEvent): readonly string[] {
  if (audience === null || !(type === 'accountUpdated' || type === 'teamUpdated')) return [];
  return (JSON.parse(audience) as { readonly changed?: readonly string[] }).changed ?? [];
}
