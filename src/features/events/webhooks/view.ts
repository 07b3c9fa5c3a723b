import { z } from 'zod';
import { toWireInstant, wireInstant, wireInstantOrEmpty } from '#src/contract/shapes.js';
import type { ListedAttempt } from './deliveries/history.js';
import type { Delivery } from './deliveries/tables.js';
import type { Webhook } from './model/store.js';

/** A webhook on the wire. */
export const webhookShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    name: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    tls: z.boolean().meta({ description: "Whether the receiver's certificate is verified" }),
    authUsername: z.string(),
    authPassword: z.literal('').meta({ description: 'Never shown' }),
    secret: z.string().meta({ description: 'As signingSecret; empty where that is absent' }),
    signingSecret: z
      .string()
      .optional()
      .meta({ description: 'Only in the answers that create the webhook or rotate its secret' }),
    previousSecretUntil: wireInstantOrEmpty.meta({
      description: 'Until when the secret before this one signs too; empty where the last rotation had no overlap',
    }),
    enabled: z.boolean(),
    logs: z.string().meta({ description: 'The last failure in words' }),
    attempts: z.int().meta({ description: 'Failures since the last success' }),
  })
  .meta({ id: 'Webhook' });

/** An attempt of a delivery on the wire. */
export const deliveryShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    webhookId: z.string(),
    deliveryId: z.string(),
    eventId: z.string(),
    event: z.string(),
    attempt: z.int(),
    state: z.enum(['pending', 'delivering', 'delivered', 'retrying', 'dead', 'discarded']),
    test: z.boolean().meta({ description: 'Whether it is a test, which is never replayed' }),
    statusCode: z.int().meta({ description: '0 where nothing was answered' }),
    ok: z.boolean(),
    error: z.string().meta({ description: 'Why it failed, in words; empty where it did not' }),
    durationMs: z.int(),
    nextAttemptAt: wireInstantOrEmpty,
    response: z.string().meta({ description: 'The beginning of the answer' }),
  })
  .meta({ id: 'WebhookDelivery' });

type WireDelivery = z.input<typeof deliveryShape>;

/** Converts a webhook to its wire format. Contains the secret only right after it was created. */
export function toWebhook(webhook: Webhook, secret = ''): z.input<typeof webhookShape> {
  return {
    $id: webhook.id,
    $createdAt: toWireInstant(webhook.createdAt),
    $updatedAt: toWireInstant(webhook.updatedAt),
    name: webhook.name,
    url: webhook.url,
    events: [...webhook.events],
    tls: webhook.tls,
    authUsername: webhook.authUsername,
    authPassword: '',
    secret,
    ...(secret === '' ? {} : { signingSecret: secret }),
    previousSecretUntil: toWireInstant(webhook.previousUntil),
    enabled: webhook.enabled,
    logs: webhook.logs,
    attempts: webhook.attempts,
  };
}

/** Converts an attempt to its wire format. A failed test is shown as `discarded`, not `dead`: no event of the project is lost. */
export function toAttempt({ test, ...attempt }: ListedAttempt): WireDelivery {
  const state = test && attempt.state === 'dead' ? 'discarded' : attempt.state;
  return {
    $id: attempt.id,
    $createdAt: toWireInstant(attempt.createdAt),
    webhookId: attempt.webhookId,
    deliveryId: attempt.deliveryId,
    eventId: attempt.eventId,
    event: attempt.event,
    attempt: attempt.attempt,
    // Safe: the column contains only states of this type.
    state: state as WireDelivery['state'],
    test,
    statusCode: attempt.statusCode,
    ok: attempt.ok,
    error: attempt.error,
    durationMs: attempt.durationMs,
    nextAttemptAt: toWireInstant(attempt.nextAttemptAt),
    response: attempt.response,
  };
}

/** Converts a delivery without attempts to the same format. */
export function toDelivery(delivery: Delivery): WireDelivery {
  const { id: deliveryId, state, dueAt } = delivery;
  const none = { statusCode: 0, ok: false, error: '', durationMs: 0, response: '' };
  return toAttempt({ ...delivery, ...none, deliveryId, nextAttemptAt: state === 'delivering' ? null : dueAt });
}
