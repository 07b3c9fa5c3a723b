import type { Instant } from '#src/contract/shapes.js';
import { bigint, bool, instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import type { Webhook } from '../model/store.js';

/** State of a delivery. */
export type DeliveryState = 'pending' | 'delivering' | 'delivered' | 'retrying' | 'dead' | 'discarded';

/** Deliveries of events to webhooks. */
export const deliveries = table<{
  readonly id: string;
  readonly projectId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly state: string;
  readonly attempt: number;
  readonly dueAt: Instant | null;
  readonly leaseUntil: Instant | null;
  readonly owner: string | null;
  readonly fence: number;
  readonly replayed: boolean;
  /** True for a test, which is never replayed. */
  readonly test: boolean;
  /** The number of the event; 0 for a test. */
  readonly sequence: number;
  /** Size of the event's data; 0 for a test. */
  readonly bytes: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}>('deliveries', {
  id: text,
  projectId: text,
  webhookId: text,
  eventId: text,
  event: text,
  state: text,
  attempt: integer,
  dueAt: nullable(instant),
  leaseUntil: nullable(instant),
  owner: nullable(text),
  fence: integer,
  replayed: bool,
  test: bool,
  sequence: bigint,
  bytes: integer,
  createdAt: instant,
  updatedAt: instant,
});

/** Attempts of deliveries and their results. */
export const deliveryAttempts = table('delivery_attempts', {
  id: text,
  projectId: text,
  webhookId: text,
  deliveryId: text,
  eventId: text,
  event: text,
  attempt: integer,
  state: text,
  statusCode: integer,
  ok: bool,
  error: text,
  durationMs: integer,
  nextAttemptAt: nullable(instant),
  response: text,
  createdAt: instant,
});

/** A delivery. */
export type Delivery = ReturnType<typeof deliveries.decode>;

/** An attempt. */
export type Attempt = ReturnType<typeof deliveryAttempts.decode>;

/** Primary key of a webhook. */
export type WebhookAddress = Pick<Webhook, 'projectId' | 'id'>;
