import { type EventName, type EventPayload, events } from '#src/contract/events.js';
import type { Instant } from '#src/contract/shapes.js';
import { keyedDigest } from '../digest.js';
import type { Random } from '../random.js';
import type { Sealing } from '../sealing.js';
import type { Insert } from './driver.js';
import type { Value } from './query.js';

/** On whose behalf, where and for which request something is done; every audit row says so. */
export interface By {
  readonly projectId: string | null;
  readonly actor: { readonly kind: string; readonly id: string };
  readonly requestId: string;
}

/** What is recorded with a change besides its name. */
export interface Recorded<E extends EventName> {
  /** Path of what changed, such as `users/5f…/sessions/60…`. */
  readonly resource: string;
  readonly payload: EventPayload<E>;
  /** What the event carries, as JSON text, where that is not the payload. */
  readonly announce?: string;
  /** The user whose personal values the payload holds, if any. */
  readonly userId?: string;
  /** Who does it, where a unit does the work of several. */
  readonly by?: By;
}

/** A mail or SMS to be sent, or to be kept; what could identify somebody or let somebody in is sealed with the project's data key. */
export interface Message {
  readonly projectId: string;
  readonly userId: string | null;
  /** Name of the template. */
  readonly template: string;
  readonly channel: 'email' | 'sms';
  readonly locale: string;
  readonly recipient: string;
  /** The variables of the text. */
  readonly sealed: string;
  readonly state: 'pending' | 'kept';
  /** When it is too late to send it; null: never. */
  readonly expire: Instant | null;
}

/** What one unit of work leaves behind for its commit. */
interface Entries {
  record<E extends EventName>(event: E, recorded: Recorded<E>): void;
  send(message: Message): void;
  inserts(): readonly Insert[];
}

/** Turns recorded changes into rows of the audit log, the events and the messages. */
export interface Ledger {
  open(by: By, now: Instant): Entries;
}

const auditColumns = [
  'id',
  'project_id',
  'at',
  'actor_kind',
  'actor_id',
  'action',
  'resource',
  'request_id',
  'data',
  'mac',
] as const;
const subjectColumns = ['entry_id', 'field', 'user_id', 'value', 'salt'] as const;
const eventColumns = ['id', 'project_id', 'type', 'created_at', 'data'] as const;
const messageColumns = [
  ...(['id', 'project_id', 'user_id', 'template', 'channel', 'locale', 'recipient', 'sealed', 'state'] as const),
  ...(['due_at', 'expire', 'created_at'] as const),
] as const;

/** Creates the ledger. Each audit row carries an HMAC of this installation over all its columns; chaining comes later, by the sealer. */
export function createLedger(random: Random, sealing: Sealing): Ledger {
  const checked = createChecks();
  return {
    open: (by, now) => {
      const rows = {
        audit: [] as Value[][],
        subjects: [] as Value[][],
        events: [] as Value[][],
        messages: [] as Value[][],
      };
      return {
        record: (event, { resource, payload, announce, userId, by: actual = by }) => {
          const { announced, personal } = events[event];
          const { data, text } = checked(event, payload);
          if (announced)
            rows.events.push([random.id(), actual.projectId, event, now, announce ?? JSON.stringify(data)]);
          const id = random.id();
          const kept: Record<string, unknown> = personal.length === 0 ? data : { ...data };
          for (const field of personal) {
            const value = data[field];
            if (typeof value !== 'string' || value === '') continue;
            const salt = random.secret();
            kept[field] = { commitment: keyedDigest(salt, value) };
            rows.subjects.push([id, field, userId ?? null, value, salt]);
          }
          const row = [
            id,
            actual.projectId,
            now,
            actual.actor.kind,
            actual.actor.id,
            event,
            resource,
            actual.requestId,
            text ?? canonicalJson(kept),
          ];
          rows.audit.push([...row, sealing.auditMac(JSON.stringify(row))]);
        },
        send: ({ projectId, userId, template, channel, locale, recipient, sealed, state, expire }) => {
          const dueAt = state === 'pending' ? now : null;
          const place = [random.id(), projectId, userId, template, channel, locale];
          rows.messages.push([...place, recipient, sealed, state, dueAt, expire, now]);
        },
        inserts: () =>
          [
            { table: 'audit_entries', columns: auditColumns, rows: rows.audit },
            { table: 'audit_subjects', columns: subjectColumns, rows: rows.subjects },
            { table: 'events', columns: eventColumns, rows: rows.events },
            { table: 'messages', columns: messageColumns, rows: rows.messages },
          ].filter((insert) => insert.rows.length > 0),
      };
    },
  };
}

/** Holds payloads against their schemas; a frozen one, which stands for many changes, only once. */
function createChecks() {
  interface Checked {
    readonly event: EventName;
    readonly data: Record<string, unknown>;
    /** What the audit row keeps, where nothing in it is personal. */
    readonly text: string | undefined;
  }
  const known = new WeakMap<object, Checked>();
  return (event: EventName, payload: object): Checked => {
    const before = known.get(payload);
    if (before?.event === event) return before;
    const { payload: schema, personal } = events[event];
    const data: Record<string, unknown> = schema.parse(payload);
    const fresh = { event, data, text: personal.length === 0 ? canonicalJson(data) : undefined };
    if (Object.isFrozen(payload)) known.set(payload, fresh);
    return fresh;
  };
}

/** JSON with the keys of every object in order, so that equal values give equal text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
