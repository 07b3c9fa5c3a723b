import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { everyEvent, feedOnlyEvents, subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import { customId, newId, required, uniqueId, visibleText } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/index.js';
import { deliveryShape, webhookShape } from './view.js';

const common = { tag: 'webhooks', limits: { calls: 'data' } } as const;
const read = { ...common, method: 'GET', access: serverKeys('webhooks.read') } as const;
const write = { ...common, access: serverKeys('webhooks.write') } as const;
const one = '/webhooks/:webhookId';
const params = z.object({ webhookId: customId });
const eventNames: readonly string[] = [everyEvent, ...subscribableEvents];
const feedOnlyNames: readonly string[] = feedOnlyEvents;

const name = required(visibleText(webhookLimits.name));
const url = z.string().min(1).max(webhookLimits.url).meta({ description: 'https address that receives deliveries' });
const events = z
  .array(z.string().max(webhookLimits.name))
  .min(1)
  .max(100)
  .superRefine((names, context) => {
    const unknown = names.filter((event) => !eventNames.includes(event));
    if (unknown.length === 0) return;
    const ofFeed = unknown.filter((event) => feedOnlyNames.includes(event));
    const hint = ofFeed.length === 0 ? '' : `; only the feed has ${[...new Set(ofFeed)].join(', ')}`;
    const message = `unknown events: ${unknown.slice(0, 10).join(', ')}; known: ${eventNames.join(', ')}${hint}`;
    context.addIssue({ code: 'custom', message });
  })
  .transform((names) => [...new Set(names)])
  .meta({ description: `Names of events: ${eventNames.join(', ')}` });
const enabled = z.boolean();
const tls = z.boolean().meta({ description: 'false: any certificate will do; only where the installation allows it' });
const authUsername = visibleText(webhookLimits.credential)
  .regex(/^[^:]*$/, 'must not hold a colon')
  .meta({ description: 'Name for Basic authentication of deliveries' });
const authPassword = z.string().max(webhookLimits.credential).meta({ description: 'Password for it; never shown' });
const secret = z
  .string()
  .max(256)
  .nullish()
  .transform((text) => text || undefined)
  .meta({ description: 'A signing secret of your own, whsec_ and the base64 of 24 to 64 bytes' });

const rotation = {
  ...write,
  path: `${one}/secret`,
  input: {
    params,
    body: z.object({
      secret,
      overlap: z
        .int()
        .min(0)
        .max(webhookLimits.maxOverlapSeconds)
        .default(webhookLimits.overlapSeconds)
        .meta({ description: 'Seconds for which the old secret signs too' }),
    }),
  },
  reply: { status: 200, shape: json(webhookShape), errors: ['webhook_not_found'] },
} as const;

const pages = { ...listParameters, queries: listParameters.queries.meta({ description: 'Queries: limit and offset' }) };

/** Webhooks and their deliveries, managed with server keys. */
export const webhooksApi = declare({
  create: {
    ...write,
    id: 'webhooks.create',
    method: 'POST',
    path: '/webhooks',
    summary: 'Creates a webhook; its signing secret is in this answer only.',
    input: {
      body: z.object({
        webhookId: newId.default(uniqueId),
        name,
        url,
        events,
        secret,
        enabled: enabled.default(true),
        tls: tls.default(true),
        authUsername: authUsername.default(''),
        authPassword: authPassword.default(''),
      }),
    },
    reply: { status: 201, shape: json(webhookShape), errors: ['webhook_already_exists', 'webhook_limit_exceeded'] },
  },
  list: {
    ...read,
    id: 'webhooks.list',
    path: '/webhooks',
    summary: 'Lists the webhooks of the project.',
    input: { query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), webhooks: z.array(webhookShape) }).meta({ id: 'WebhookList' })),
      bound: { entries: webhookLimits.perProject, bytes: 16_384 },
      errors: ['general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'webhooks.get',
    path: one,
    summary: 'Reads a webhook.',
    input: { params },
    reply: { status: 200, shape: json(webhookShape), errors: ['webhook_not_found'] },
  },
  update: {
    ...write,
    id: 'webhooks.update',
    method: 'PUT',
    path: one,
    summary: 'Changes a webhook; what is not given stays.',
    input: { params, body: z.object({ name, url, events, enabled, tls, authUsername, authPassword }).partial() },
    reply: { status: 200, shape: json(webhookShape), errors: ['webhook_not_found'] },
  },
  delete: {
    ...write,
    id: 'webhooks.delete',
    method: 'DELETE',
    path: one,
    summary: 'Removes a webhook with its deliveries.',
    input: { params },
    reply: { status: 204, shape: empty, errors: ['webhook_not_found'] },
  },
  rotate: {
    ...rotation,
    id: 'webhooks.rotateSecret',
    method: 'POST',
    summary: 'Gives a webhook another secret; the old one signs too for a while.',
  },
  rotateByPatch: {
    ...rotation,
    id: 'webhooks.updateSecret',
    method: 'PATCH',
    summary: 'Gives a webhook another secret; the old one signs too for a while.',
  },
  deliveries: {
    ...read,
    id: 'webhooks.listDeliveries',
    path: `${one}/deliveries`,
    summary: 'Lists attempts to deliver events, newest first.',
    input: { params, query: z.object(pages) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), deliveries: z.array(deliveryShape) }).meta({ id: 'WebhookDeliveryList' })),
      bound: { entries: webhookLimits.page, bytes: 8192 },
      errors: ['webhook_not_found'],
    },
  },
  test: {
    ...write,
    id: 'webhooks.test',
    method: 'POST',
    path: `${one}/test`,
    summary: 'Posts a made-up event at once and tells how it went.',
    input: { params, body: z.object({ event: z.enum(subscribableEvents).optional() }) },
    reply: {
      status: 200,
      shape: json(z.object({ delivery: deliveryShape }).meta({ id: 'WebhookTest' })),
      errors: ['webhook_not_found'],
    },
  },
  replay: {
    ...write,
    id: 'webhooks.replayDelivery',
    method: 'POST',
    path: `${one}/deliveries/:deliveryId/replay`,
    summary: 'Delivers an event once more, with the same id.',
    input: { params: params.extend({ deliveryId: customId }) },
    reply: {
      status: 202,
      shape: json(deliveryShape),
      errors: ['webhook_not_found', 'webhook_delivery_not_found', 'webhook_disabled'],
    },
  },
});
