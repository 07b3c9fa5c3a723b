// Webhooks for tests: a server that may call receivers on this machine, and what arrives there.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { type ApplianceOptions, startAppliance, type TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import type { Receiver } from '../harness/receiver.js';

type Json = Record<string, unknown>;

/** A webhook with what its creation answered. */
export interface TestWebhook {
  readonly id: string;
  readonly path: string;
  readonly secret: string;
}

/** A server that may call this machine, with short time limits for what it calls. */
export function startOpen(options: ApplianceOptions = {}): Promise<TestAppliance> {
  const settings = { SVC_WEBHOOK_ALLOW_INSECURE: 'true', ...options.settings };
  return startAppliance({ ticking: true, longestCallMs: 1000, ...options, settings });
}

let made = 0;

/** Subscribes an address to events, to all of them unless told otherwise. */
export async function aWebhook(key: Client, url: string, given: Json = {}): Promise<TestWebhook> {
  made += 1;
  const body = { webhookId: `hook-${made}`, name: 'Test', url, events: ['*'], ...given };
  const answer = (await key.post('/webhooks', body)).expect(201);
  const id = answer.string('$id');
  return { id, path: `/webhooks/${id}`, secret: answer.string('signingSecret') };
}

/** Lets an event happen: somebody new logs in. Returns its id. */
export async function anEvent(target: TestAppliance): Promise<string> {
  const { sessionId } = await aLoggedInUser(target);
  const rows = await rowsOf(target, 'events', target.project.id);
  const event = rows.find(({ data }) => String(data).includes(sessionId));
  assert.ok(event);
  return String(event.id);
}

/** Waits until something is so; fails with its last complaint after a minute. */
export async function eventually<T>(look: () => Promise<T> | T, seconds = 60): Promise<T> {
  const until = performance.now() + seconds * 1000;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(20);
    }
  }
}

/** Waits until a receiver has had so many calls. */
export async function called(receiver: Receiver, count: number): Promise<Receiver['calls']> {
  return eventually(() => {
    assert.equal(receiver.calls.length, count);
    return receiver.calls;
  });
}

/** The attempts of a webhook, newest first. */
export async function attemptsOf(key: Client, { path }: TestWebhook): Promise<Json[]> {
  return (await key.get(`${path}/deliveries`)).expect(200).list('deliveries');
}

/** Waits until so many attempts are recorded. */
export function attempted(key: Client, webhook: TestWebhook, count: number): Promise<Json[]> {
  return eventually(async () => {
    const attempts = await attemptsOf(key, webhook);
    assert.equal(attempts.length, count, JSON.stringify(attempts));
    return attempts;
  });
}

/** A key for everything. */
export async function aKey(target: TestAppliance): Promise<Client> {
  return (await aServerKey(target)).client;
}

/** The body of a call as JSON. */
export function bodyOf({ body }: { readonly body: Buffer }): Json {
  return JSON.parse(body.toString());
}
