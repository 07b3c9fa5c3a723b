import { leaseColumns } from '#src/platform/db/leased-rows.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { bigint, bool, instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Webhook } from '../model/store.js';

/** State of a delivery. */
export type DeliveryState = 'pending' | 'delivering' | 'delivered' | 'retrying' | 'dead' | 'discarded';

/** Deliveries of events to webhooks. */
export const deliveries = table('deliveries', {
  id: text,
  projectId: text,
  webhookId: text,
  eventId: text,
  event: text,
  state: text,
  attempt: integer,
  dueAt: nullable(instant),
  ...leaseColumns,
  replayed: bool,
  /** True for a test, which is never replayed. */
  test: bool,
  /** The number of the event; 0 for a test. */
  sequence: bigint,
  /** Size of the event's data; 0 for a test. */
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

/** Reads and disables webhooks, and discards the waiting deliveries of disabled ones. */
export interface WebhookStates {
  get(reader: Reader, projectId: string, id: string): Promise<Webhook>;
  /** Disables a webhook until it is enabled again. */
  disable(unit: Unit, webhook: Webhook, reason: string): Promise<void>;
  /** Discards all waiting deliveries of a disabled webhook in several transactions. */
  giveUp(by: AuditContext, webhook: WebhookAddress): Promise<void>;
  /** Discards one batch of them. */
  giveUpSome(unit: Unit, webhook: WebhookAddress): Promise<number>;
}
