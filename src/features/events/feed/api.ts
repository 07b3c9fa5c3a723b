import { z } from 'zod';
import { declare, rawJson, usersAndKeys } from '#src/contract/declaration.js';
import { feedEvents } from '#src/contract/events.js';
import { feedLimits } from '#src/contract/limits.js';
import { wireInstant } from '#src/contract/shapes.js';

/** An event as sent by the feed and webhooks. */
export const eventShape = z
  .object({
    id: z.string(),
    type: z.enum(feedEvents),
    timestamp: wireInstant,
    sequence: z.int().meta({ description: 'The number of the event in its project, without gaps' }),
    projectId: z.string(),
    data: z.looseObject({}).meta({ description: 'The resource as REST prints it; at a deletion its last state' }),
  })
  .meta({ id: 'Event' });

const cursor = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a cursor of an earlier answer')
  .optional()
  .meta({ description: 'Where to go on: `cursor` of the last answer; the first event that is kept where absent' });
const wait = z.coerce
  .number()
  .int()
  .min(0)
  .max(feedLimits.waitSeconds)
  .default(0)
  .meta({ description: 'Seconds for which an empty answer is held until there is an event' });

/** The feed of events. */
export const feedApi = declare({
  list: {
    id: 'events.list',
    method: 'GET',
    path: '/events',
    summary: 'Reads events in their order, after a cursor; as server-sent events where the client accepts these.',
    tag: 'events',
    access: usersAndKeys('events.read'),
    limits: { calls: 'data' },
    input: {
      query: z.object({
        cursor,
        limit: z.coerce
          .number()
          .int()
          .min(1)
          .max(feedLimits.page)
          .default(feedLimits.defaultPage)
          .meta({ description: 'Events of an answer' }),
        wait,
        types: z.array(z.enum(feedEvents)).max(feedLimits.types).default([]).meta({ description: 'Only these events' }),
        resource: z
          .string()
          .min(1)
          .max(feedLimits.prefix)
          .regex(/^[^/](.*[^/])?$/, 'must be a path without a slash at its ends')
          .optional()
          .meta({
            description: 'Only events about a resource and what is below it, such as `databases/shop` or `users/ada`',
          }),
        lastEventId: z
          .string()
          .max(64)
          .optional()
          .meta({ description: 'Of a stream: as the header `Last-Event-ID`, for clients that cannot set it' }),
      }),
    },
    reply: {
      status: 200,
      shape: rawJson(
        z
          .object({
            events: z.array(eventShape),
            cursor: z.string().meta({ description: 'Where to go on, also where there are no events' }),
            more: z.boolean().meta({ description: 'Whether there may be more already' }),
          })
          .meta({ id: 'EventList' }),
      ),
      bound: 'budget',
      streams: true,
      errors: ['event_not_found', 'general_cursor_not_found'],
    },
  },
});
