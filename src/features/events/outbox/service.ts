import { type Audience, type EventName, events } from '#src/contract/events.js';
import type { Append, Outbox, RecordedChange } from '#src/platform/db/outbox.js';
import { keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { appendedEntries, appendedEvents, appendedSubjects } from './store.js';

/**
 * Turns a recorded change into an audit row and, where it is announced, an event. Each audit row carries an HMAC of this installation over
 * all its columns; chaining comes later, by the sealer.
 */
export function createRecorder({
  random,
  sealing,
}: Pick<Runtime, 'random' | 'sealing'>): Parameters<Outbox['recordWith']>[0] {
  const check = createPayloadCheck();

  /** The client and the personal fields of a payload become commitments; their values are rows that can be erased. */
  const audit = (
    { event, recorded: { resource, userId }, by, now }: RecordedChange,
    { data, text }: CheckedPayload,
    append: Append,
  ): void => {
    const { personal, client: keepsClient } = events[event];
    const id = random.id();
    const client = keepsClient ? by.client : undefined;
    const isPlain = personal.length === 0 && client === undefined && by.actingKey === undefined;
    const values: Record<string, unknown> = isPlain ? data : { ...data };
    const subjects: (readonly [string, string, string | null, string, string])[] = [];
    const commit = (field: string, value: string, whose: string | null) => {
      const salt = random.secret();
      subjects.push([id, field, whose, value, salt]);
      return { commitment: keyedDigest(salt, value) };
    };
    for (const field of personal) {
      const value = textOf(data[field]);
      if (value !== '') values[field] = commit(field, value, userId ?? null);
    }
    if (client !== undefined) {
      // The client is that of the actor, who need not be the user whom the change is about.
      const whose = by.actor.kind === 'user' ? by.actor.id : (userId ?? null);
      for (const [name, value] of Object.entries(client))
        if (value !== '') values[`client.${name}`] = commit(`client.${name}`, value, whose);
    }
    if (by.actingKey !== undefined) values.act = `key:${by.actingKey}`;
    const row = [
      id,
      by.projectId,
      now,
      by.actor.kind,
      by.actor.id,
      event,
      resource,
      by.requestId,
      (isPlain ? text : undefined) ?? canonicalJson(values),
    ];
    append(appendedEntries, [...row, sealing.auditMac(JSON.stringify(row))]);
    for (const subject of subjects) append(appendedSubjects, subject);
  };

  return {
    record: (change, append) => {
      const { event, recorded, by, now } = change;
      const { resource, userId, audience, announce } = recorded;
      const checked = check(event, recorded.payload);
      if (events[event].announced) {
        const data = announce ?? JSON.stringify(checked.data);
        append(appendedEvents, [
          random.id(),
          by.projectId,
          event,
          now,
          data,
          resource,
          printed(audience ?? audienceOf(userId)),
        ]);
      }
      audit(change, checked, append);
    },
    announce: (event, { resource, data, audience }, { projectId }, now, append) =>
      append(appendedEvents, [random.id(), projectId, event, now, data, resource, printed(audience)]),
  };
}

/** What concerns a user is for this user; who may read a document or file its permissions say. */
function audienceOf(userId: string | undefined): Audience | undefined {
  return userId === undefined ? undefined : { users: [userId] };
}

function printed(audience: Audience | undefined): string | null {
  return audience === undefined ? null : JSON.stringify(audience);
}

/** A payload that agrees with its schema. */
interface CheckedPayload {
  readonly event: EventName;
  readonly data: Record<string, unknown>;
  /** What the audit row keeps, where nothing in it is personal. */
  readonly text: string | undefined;
}

/** Parses payloads by their schemas; a frozen payload, which stands for many changes, only once. */
function createPayloadCheck() {
  const cache = new WeakMap<object, CheckedPayload>();
  return (event: EventName, payload: object): CheckedPayload => {
    const cached = cache.get(payload);
    if (cached?.event === event) return cached;
    const { payload: schema, personal } = events[event];
    const data: Record<string, unknown> = schema.parse(payload);
    const checked = { event, data, text: personal.length === 0 ? canonicalJson(data) : undefined };
    if (Object.isFrozen(payload)) cache.set(payload, checked);
    return checked;
  };
}

/** A personal value as the text that is kept of it; a list is kept as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value) : '';
}

/** JSON with the keys of every object in order, so that equal values give equal text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
