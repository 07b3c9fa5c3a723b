// A client of the socket that speaks the protocol by hand, for what the SDK does not show.
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import { numbered } from '../feed/sse.js';
import type { TestAppliance } from '../harness/appliance.js';
import { after } from '../harness/runner.js';
import { eventually } from '../webhooks/setup.js';

type Json = Record<string, unknown>;

/** What an event on a socket says. */
export interface ToldEvent {
  readonly id: string;
  readonly events: readonly string[];
  readonly channels: readonly string[];
  readonly timestamp: string;
  readonly sequence: number;
  readonly payload: Json;
  readonly subscriptions: readonly string[];
}

/** A socket with what has arrived so far. */
export interface TestSocket {
  readonly messages: readonly Json[];
  readonly socket: WebSocket;
  /** The code with which the socket was closed. */
  readonly closed: Promise<number>;
  events(): ToldEvent[];
  send(type: string, data?: unknown): void;
  /** Sends a message and waits for what is answered. */
  ask(type: string, data?: unknown): Promise<Json>;
  /** Waits until so many events have arrived. */
  told(count: number): Promise<ToldEvent[]>;
}

/** Opens a socket, and waits for its first message. */
export async function openSocket(
  target: TestAppliance,
  { query = `?project=${target.project.id}`, headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<TestSocket> {
  const socket = new WebSocket(`${target.origin.replace('http', 'ws')}/v1/realtime${query}`, { headers });
  after(() => socket.terminate());
  const messages: Json[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  const send = (type: string, data?: unknown) => socket.send(JSON.stringify({ type, data }));
  const others = () => messages.filter(({ type }) => type !== 'event');
  const events = () => messages.filter(({ type }) => type === 'event').map(({ data }) => data as unknown as ToldEvent);
  const opened: TestSocket = {
    messages,
    socket,
    closed,
    events,
    send,
    ask: async (type, data) => {
      const count = others().length;
      send(type, data);
      return eventually(() => {
        const answer = others()[count];
        assert.ok(answer, JSON.stringify(messages));
        return answer;
      });
    },
    told: (count) =>
      eventually(() => {
        const told = events();
        assert.equal(told.length, count, JSON.stringify(told.map(({ events: [name] }) => name)));
        return told;
      }),
  };
  await eventually(() => assert.ok(messages.length > 0));
  return opened;
}

/** Opens a socket of a user or guest that subscribes to channels, after everything from before has its number. */
export async function subscribed(
  target: TestAppliance,
  channels: readonly string[],
  headers: Record<string, string> = {},
  queries: readonly string[] = [],
): Promise<TestSocket> {
  await numbered(target);
  const socket = await openSocket(target, { headers });
  const answer = await socket.ask('subscribe', [{ subscriptionId: 'all', channels, queries }]);
  assert.equal(answer.type, 'response', JSON.stringify(answer));
  return socket;
}
