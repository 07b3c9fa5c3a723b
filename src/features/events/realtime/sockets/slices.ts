import { realtimeLimits } from '#src/contract/limits.js';
import type { StoredEvent } from '../../feed/index.js';
import { topicsOf } from '../subscriptions/channels.js';
import type { ChannelIndex } from './channel-index.js';
import { Messages } from './messages.js';
import type { RealtimeSocket } from './socket.js';

/** An event, and some of the sockets that its channels reach. */
export interface Told {
  readonly event: StoredEvent;
  readonly channels: ReadonlySet<string>;
  readonly messages: Messages;
  readonly sockets: RealtimeSocket[];
}

/**
 * Divides the telling of events into parts that are told in one go. Their order is that of the events, and a part takes a bounded number of
 * steps: sockets, subscriptions and conditions are the clients' to choose.
 */
export function* slicesOf(
  events: readonly StoredEvent[],
  index: ChannelIndex<RealtimeSocket>,
): Generator<readonly Told[]> {
  let slice: Told[] = [];
  let steps = 0;
  for (const event of events) {
    const topics = topicsOf(event.type, event.resource);
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
