// Compares what clients were answered with what the database holds and what the receiver got.
import { isDeepStrictEqual } from 'node:util';
import { deliveryRules, type Strike } from './deliveries.js';
import type { Json, Write } from './journal.js';
import type { Post } from './posts.js';
import type { Stored, StoredEvent } from './stored.js';

/** All that is known. */
export interface Evidence {
  readonly writes: readonly Write[];
  readonly posts: readonly Post[];
  readonly strikes: readonly Strike[];
  readonly stored: Stored;
}

/** A rule names what breaks it. */
export type Rule = (evidence: Evidence) => string[];

/** Everything that is lost, changed or invented, in words; nothing where all promises were kept. */
export function findFaults(evidence: Evidence): string[] {
  return [...databaseRules, ...deliveryRules].flatMap((rule) => rule(evidence));
}

const databaseRules: readonly Rule[] = [
  writesAreRecorded,
  nothingIsInvented,
  auditAgreesWithEvents,
  documentsAreAsAnswered,
  sessionsAreAsRecorded,
];

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** What tells an event from all others: of documents that change, the number of the write in them. */
const nameOf = ({ type, data }: StoredEvent): string =>
  type === 'documentCreated' || type === 'documentUpdated'
    ? `${type} ${data.$id} ${data.number}`
    : `${type} ${data.$id}`;

/** The name of the event that a write leaves; that of a login is known from its answer only. */
function expectedName({ event, subject, number, answer }: Write): string {
  if (event === 'sessionCreated') return `${event} ${answer?.$id}`;
  return event === 'documentDeleted' ? `${event} ${subject}` : `${event} ${subject} ${number}`;
}

/** What the event shows of an answer: a session without its secret, and nobody's own. */
const announcedOf = ({ event, answer }: Write): Json | undefined =>
  event === 'sessionCreated' ? { ...answer, secret: '', current: false } : answer;

function writesAreRecorded({ writes, stored }: Evidence): string[] {
  const audit = grouped(stored.audit, ({ requestId, action }) => `${requestId} ${action}`);
  const events = grouped(stored.events, nameOf);
  return writes
    .filter(({ answer }) => answer !== undefined)
    .flatMap((write) => {
      const what = `${write.requestId} ${expectedName(write)}`;
      const [event, ...more] = events.get(expectedName(write)) ?? [];
      const rows = audit.get(`${write.requestId} ${write.event}`)?.length ?? 0;
      const faults = rows === 1 ? [] : [`${what}: acknowledged, with ${rows} audit rows`];
      if (event === undefined) return [...faults, `${what}: acknowledged, with 0 events`];
      if (more.length > 0) return [...faults, `${what}: acknowledged, with ${more.length + 1} events`];
      const agrees = write.event === 'documentDeleted' || isDeepStrictEqual(event.data, announcedOf(write));
      return agrees ? faults : [...faults, `${what}: answered otherwise than announced`];
    });
}

function nothingIsInvented({ writes, stored }: Evidence): string[] {
  const asked = new Map(writes.map((write) => [write.requestId, write]));
  const possible = new Set(writes.map(expectedName));
  const people = new Set(writes.filter(({ event }) => event === 'sessionCreated').map(({ subject }) => subject));
  const announced = new Set(stored.events.map(({ type }) => type));
  const audit = stored.audit
    .filter(({ requestId, action }) => asked.has(requestId) || announced.has(action))
    // One session too many ends the oldest, in the same unit.
    .filter(({ requestId, action }) => {
      const event = asked.get(requestId)?.event;
      return event !== action && !(event === 'sessionCreated' && action === 'sessionDeleted');
    })
    .map(({ requestId, action }) => `${requestId} ${action}: an audit row of nobody's request`);
  const events = stored.events
    .filter((event) => !possible.has(nameOf(event)))
    .filter(({ type, data }) => !(type.startsWith('session') && people.has(String(data.userId))))
    .map((event) => `${nameOf(event)}: an event of nobody's request`);
  return [...audit, ...events];
}

function auditAgreesWithEvents({ stored }: Evidence): string[] {
  const counts = new Map<string, number>();
  const count = (name: string, by: number) => counts.set(name, (counts.get(name) ?? 0) + by);
  for (const { type, data, at } of stored.events) count(`${type} ${data.$id} ${at}`, 1);
  const announced = /^(document|session)(Created|Updated|Deleted)$/;
  for (const { action, subject, at } of stored.audit)
    if (announced.test(action)) count(`${action} ${subject} ${at}`, -1);
  return [...counts]
    .filter(([, difference]) => difference !== 0)
    .map(
      ([name, difference]) =>
        `${name}: ${difference > 0 ? 'an event without audit row' : 'an audit row without event'}`,
    );
}

/** Each document is as its last write has left it; one that was not acknowledged counts where its event is there. */
function documentsAreAsAnswered({ writes, stored }: Evidence): string[] {
  const events = new Map(stored.events.map((event) => [nameOf(event), event.data]));
  const expected = new Map<string, Json | undefined>();
  const faults: string[] = [];
  for (const write of writes.filter(({ event }) => event !== 'sessionCreated')) {
    const announced = events.get(expectedName(write));
    if (write.answer === undefined && announced === undefined) continue;
    const isGone = write.event === 'documentDeleted';
    if (isGone && announced !== undefined && !isDeepStrictEqual(announced, expected.get(write.subject)))
      faults.push(`${expectedName(write)}: announced otherwise than it was`);
    expected.set(write.subject, isGone ? undefined : (write.answer ?? announced));
  }
  const ids = new Set([...expected.keys(), ...stored.documents.keys()]);
  const wrong = [...ids].filter((id) => !isDeepStrictEqual(stored.documents.get(id), expected.get(id)));
  return [...faults, ...wrong.map((id) => `${id}: ${complaint(stored.documents.get(id), expected.get(id))}`)];
}

function complaint(found: Json | undefined, wanted: Json | undefined): string {
  if (found === undefined) return 'a document is lost';
  return wanted === undefined ? 'a document that should not be there' : 'a document is not as it was answered';
}

function sessionsAreAsRecorded({ stored }: Evidence): string[] {
  const expected = new Set<string>();
  for (const { type, data } of stored.events) if (type === 'sessionCreated') expected.add(String(data.$id));
  for (const { type, data } of stored.events) if (type === 'sessionDeleted') expected.delete(String(data.$id));
  return [
    ...[...expected].filter((id) => !stored.sessions.has(id)).map((id) => `${id}: a session is lost`),
    ...[...stored.sessions].filter((id) => !expected.has(id)).map((id) => `${id}: a session that should not be there`),
  ];
}
