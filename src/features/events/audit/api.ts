import { z } from 'zod';
import { declare, json, serverKeys } from '#src/contract/declaration.js';
import { type EventName, events } from '#src/contract/events.js';
import { givenTime } from '#src/contract/instant.js';
import { auditLimits } from '#src/contract/limits.js';
import { auditListShape } from './view.js';

const word = (description: string) => z.string().min(1).max(auditLimits.word).optional().meta({ description });
const time = (description: string) =>
  givenTime
    .transform((milliseconds) => new Date(milliseconds).toISOString())
    .optional()
    .meta({ description });

/** The audit log of a project, readable with server keys. */
export const auditApi = declare({
  list: {
    tag: 'audit',
    id: 'audit.list',
    method: 'GET',
    path: '/audit',
    summary: 'Lists the audit log of the project, newest first.',
    access: serverKeys('audit.read'),
    limits: { calls: 'data' },
    input: {
      query: z.object({
        cursor: z
          .string()
          .regex(/^\d{1,15}$/, 'must be the cursor of a page before')
          .optional()
          .meta({ description: 'The cursor of the page before' }),
        limit: z.coerce
          .number()
          .int()
          .min(1)
          .max(auditLimits.page)
          .default(25)
          .meta({ description: `Entries of the page, 1 to ${auditLimits.page}` }),
        actor: word('Only what the actor with this id did'),
        // An enum, because an empty list for an unknown action would hide a typo.
        action: z
          .enum(Object.keys(events) as EventName[])
          .optional()
          .meta({ description: 'Only entries with this action' }),
        resource: word('Only entries about this resource, such as users/ID'),
        since: time('Only entries from this time on'),
        until: time('Only entries before this time'),
      }),
    },
    reply: {
      status: 200,
      shape: json(auditListShape),
      bound: { entries: auditLimits.page, bytes: auditLimits.entryBytes },
      errors: [],
    },
  },
});
