import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { jsonLimits, realtimeLimits } from '#src/contract/limits.js';
import { advance } from '#src/platform/admission/limiter.js';
import type { Runtime } from '#src/platform/index.js';
import { JsonTooLarge, readJson } from '#src/platform/text/json.js';
import type { Subscription } from '../subscriptions/subscriptions.js';
import { closeCodes, type RealtimeSocket } from './socket.js';

const messageRate = { count: realtimeLimits.messages, seconds: realtimeLimits.messagesSeconds };
const messageShape = z.object({ type: z.string(), data: z.unknown().optional() });
const authenticationShape = z.object({ session: z.string().min(1).max(realtimeLimits.secret) });

const tooMany = 'The client sends too many messages.';
const wrong = (message: string) => new Failure('general_argument_invalid', { message });
/** Wire format of Appwrite: the channel `account` is listed with `account.ID`. */
const toWire = ({ id: subscriptionId, channels, queries }: Subscription, { user }: RealtimeSocket) => ({
  subscriptionId,
  channels: withOwnId(channels, user?.id),
  queries,
});

/** The size of a message for the rate limit. */
export interface MessageSize {
  readonly characters?: number;
  readonly members?: number;
}

interface Deps {
  /** Authenticates the socket with a session secret and prints the user. */
  readonly identify: (secret: string) => Promise<unknown>;
  /** Counts a message, or a part of it, by characters or members. Returns false if the client's address has sent too many. */
  readonly admits: (size: MessageSize) => boolean;
}

/** Creates a handler that processes the messages of a client in order. */
export function createReceiver(
  { log, clock, random }: Pick<Runtime, 'log' | 'clock' | 'random'>,
  socket: RealtimeSocket,
  { identify, admits }: Deps,
): (text: string) => void {
  let arrival = 0;
  let waiting = 0;
  let turn: Promise<void> = Promise.resolve();

  const respond = (to: string, more: Readonly<Record<string, unknown>>) =>
    socket.sendValue('response', { to, success: true, ...more });
  const handlers: Readonly<Record<string, (data: unknown) => Promise<void> | void>> = {
    ping: () => socket.sendValue('pong'),
    subscribe: (data) =>
      respond('subscribe', {
        subscriptions: socket.subscriptions.add(data, () => random.id()).map((one) => toWire(one, socket)),
      }),
    unsubscribe: (data) => respond('unsubscribe', { subscriptions: socket.subscriptions.remove(data) }),
    authentication: async (data) => {
      const parsed = authenticationShape.safeParse(data);
      if (!parsed.success) throw wrong('authentication takes an object with the secret of a session.');
      respond('authentication', { user: await identify(parsed.data.session) });
    },
  };
  const take = async (text: string): Promise<void> => {
    if (!socket.isOpen) return;
    try {
      const handle = handlerOf(text);
      await handle();
    } catch (error) {
      if (error instanceof Failure && error.status < 500) return socket.refuse(error.message);
      if (error instanceof Failure) return socket.close(closeCodes.tryAgainLater, error.message);
      log.warn('realtime.message.failed', { error: error instanceof Error ? error.name : typeof error });
      socket.close(closeCodes.tryAgainLater, 'The service is temporarily unable to answer.');
    }
  };
  const handlerOf = (text: string): (() => Promise<void> | void) => {
    const { type, data } = parseMessage(text, (members) => {
      if (!admits({ members })) throw new Failure('general_unavailable', { message: tooMany });
    });
    const handler = Object.hasOwn(handlers, type) ? handlers[type] : undefined;
    if (handler === undefined)
      throw wrong('A message has one of the types ping, subscribe, unsubscribe, authentication.');
    return () => handler(data);
  };
  return (text) => {
    const { arrival: next, state } = advance(arrival, clock.monotonic(), messageRate);
    arrival = next;
    waiting += 1;
    if (!state.allowed || waiting > realtimeLimits.waitingMessages || !admits({ characters: text.length })) {
      socket.close(closeCodes.policy, tooMany);
      return;
    }
    turn = turn
      .then(() => take(text))
      .finally(() => {
        waiting -= 1;
      });
  };
}

/** Adds `account.ID` to the channel `account` if the user is known. */
export function withOwnId(channels: readonly string[], userId: string | undefined): string[] {
  const isOwn = userId !== undefined && channels.includes('account');
  return [...new Set([...channels, ...(isOwn ? [`account.${userId}`] : [])])];
}

function parseMessage(text: string, admit: (members: number) => void): z.output<typeof messageShape> {
  let value: unknown;
  try {
    value = readJson(text, { keys: realtimeLimits.members, admit });
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof JsonTooLarge)
      throw wrong(`A message has at most ${realtimeLimits.members} members, ${jsonLimits.depth} levels deep.`);
    throw wrong('A message is a JSON object.');
  }
  const parsed = messageShape.safeParse(value);
  if (!parsed.success) throw wrong('A message is a JSON object with a type.');
  return parsed.data;
}
