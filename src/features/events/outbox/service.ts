import { type Audience, type EventName, events, type FeedOnlyEvent } from '#src/contract/events.js';
import type { Instant } from '#src/contract/shapes.js';
import { keyedDigest } from '#src/platform/crypto/digest.js';
import type { Announcement, Append, AuditContext, Outbox, RecordedChange } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { sealedPayloads } from './payloads/index.js';
import { appendedEntries, appendedEvents, appendedSubjects } from './store.js';

/** A validated payload. */
interface CheckedPayload {
  readonly event: EventName;
  readonly data: Record<string, unknown>;
  /** JSON for the audit entry; undefined if the payload has personal fields. */
  readonly text: string | undefined;
}

type Recorder = Parameters<Outbox['recordWith']>[0];

interface Deps extends Pick<Runtime, 'random' | 'sealing'> {
  readonly check: (event: EventName, payload: object) => CheckedPayload;
}

/**
 * Converts a recorded change to an audit entry and, if it is announced, an event. The HMAC of an audit entry covers all its columns. The
 * sealer chains entries later.
 */
export function createRecorder({ random, sealing }: Pick<Runtime, 'random' | 'sealing'>): Recorder {
  const deps: Deps = { random, sealing, check: createPayloadCheck() };
  return bind(deps, { record, announce });
}

function record(deps: Deps, change: RecordedChange, append: Append): void {
  const { event, recorded, by, now } = change;
  const { resource, userId, audience, announce: announced, seal } = recorded;
  const checked = deps.check(event, recorded.payload);
  if (events[event].announced) {
    const id = deps.random.id();
    const text = announced ?? JSON.stringify(checked.data);
    const data = seal === undefined ? text : seal({ column: sealedPayloads, row: id }, text);
    append(appendedEvents, [id, by.projectId, event, now, data, resource, printed(audience ?? audienceOf(userId))]);
  }
  audit(deps, change, checked, append);
}

/** Writes an audit entry. Personal fields and the client become commitments; their values are separate rows that can be erased. */
function audit(
  { random, sealing }: Deps,
  { event, recorded: { resource, userId }, by, now }: RecordedChange,
  { data, text }: CheckedPayload,
  append: Append,
): void {
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
    // The client belongs to the actor, who may differ from the user that the change is about.
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
  append(appendedEntries, [...row, sealing.auditMac(JSON.stringify(row), now)]);
  for (const subject of subjects) append(appendedSubjects, subject);
}

function announce(
  { random }: Deps,
  event: FeedOnlyEvent,
  { resource, data, audience, changed = [] }: Announcement,
  { projectId }: AuditContext,
  now: Instant,
  append: Append,
): void {
  const isNamed = changed.length > 0 && typeof audience === 'object';
  const readers = printed(isNamed ? { ...audience, changed } : audience);
  append(appendedEvents, [random.id(), projectId, event, now, data, resource, readers]);
}

/** The default audience: the user concerned. Without one, the permissions of the document or file decide. */
function audienceOf(userId: string | undefined): Audience | undefined {
  return userId === undefined ? undefined : { users: [userId] };
}

function printed(audience: Audience | undefined): string | null {
  return audience === undefined ? null : JSON.stringify(audience);
}

/** Validates payloads. A frozen payload, shared by many changes, is validated once. */
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

/** The stored text of a personal value. A list is stored as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value) : '';
}

/** JSON with sorted keys in every object, so that equal values have equal text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
