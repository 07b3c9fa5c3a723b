import { type EventName, events } from '#src/contract/events.js';
import type { Append, RecordedChange } from '#src/platform/db/outbox.js';
import { keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { appendedEntries, appendedEvents, appendedSubjects } from './store.js';

/**
 * Turns a recorded change into an audit row and, where it is announced, an event. Each audit row carries an HMAC of this installation over
 * all its columns; chaining comes later, by the sealer.
 */
export function createRecorder({ random, sealing }: Pick<Runtime, 'random' | 'sealing'>) {
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
    const values: Record<string, unknown> = personal.length === 0 && client === undefined ? data : { ...data };
    const subjects: (readonly [string, string, string | null, string, string])[] = [];
    const commit = (field: string, value: string, whose: string | null) => {
      const salt = random.secret();
      subjects.push([id, field, whose, value, salt]);
      return { commitment: keyedDigest(salt, value) };
    };
    for (const field of personal) {
      const value = data[field];
      if (typeof value === 'string' && value !== '') values[field] = commit(field, value, userId ?? null);
    }
    if (client !== undefined) {
      // The client is that of the actor, who need not be the user whom the change is about.
      const whose = by.actor.kind === 'user' ? by.actor.id : (userId ?? null);
      for (const [name, value] of Object.entries(client))
        if (value !== '') values[`client.${name}`] = commit(`client.${name}`, value, whose);
    }
    const row = [
      id,
      by.projectId,
      now,
      by.actor.kind,
      by.actor.id,
      event,
      resource,
      by.requestId,
      (client === undefined ? text : undefined) ?? canonicalJson(values),
    ];
    append(appendedEntries, [...row, sealing.auditMac(JSON.stringify(row))]);
    for (const subject of subjects) append(appendedSubjects, subject);
  };

  return (change: RecordedChange, append: Append): void => {
    const { event, recorded, by, now } = change;
    const checked = check(event, recorded.payload);
    if (events[event].announced)
      append(appendedEvents, [
        random.id(),
        by.projectId,
        event,
        now,
        recorded.announce ?? JSON.stringify(checked.data),
      ]);
    audit(change, checked, append);
  };
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

/** JSON with the keys of every object in order, so that equal values give equal text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
