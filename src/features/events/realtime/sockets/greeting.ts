import { Failure } from '#src/contract/errors.js';
import type { Runtime } from '#src/platform/index.js';
import { subscriptionsOf } from '../subscriptions/address.js';
import { unknownChannels } from '../subscriptions/channels.js';
import { withOwnId } from './receiver.js';
import { closeCodes, type RealtimeSocket } from './socket.js';

/**
 * Subscribes a new socket to the channels in its URL and sends `connected`. Sends an `error` for each invalid channel or query; the other
 * subscriptions stay.
 */
export function greet(
  { random }: Pick<Runtime, 'random'>,
  socket: RealtimeSocket,
  search: string,
  user: unknown,
): void {
  const { subscriptions: wanted, unknown } = subscriptionsOf(search);
  const problems = unknown.length === 0 ? [] : [unknownChannels(unknown).message];
  const added = wanted.flatMap(({ slot, channels, queries }) => {
    try {
      return socket.subscriptions.add([{ channels, queries }], () => random.id()).map((one) => ({ slot, ...one }));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.status >= 500) socket.close(closeCodes.tryAgainLater, error.message);
      problems.push(error.message);
      return [];
    }
  });
  socket.sendValue('connected', {
    channels: withOwnId(
      added.flatMap(({ channels }) => channels),
      socket.user?.id,
    ),
    subscriptions: Object.fromEntries(added.map(({ slot, id }) => [slot, id])),
    user,
  });
  for (const message of problems) socket.refuse(message);
}
