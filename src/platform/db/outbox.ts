import type { Audience, EventName, EventPayload, FeedOnlyEvent } from '#src/contract/events.js';
import type { IdempotentRequest } from '#src/contract/idempotency.js';
import type { Waits } from '#src/contract/operation.js';
import type { Instant } from '#src/contract/shapes.js';
import type { SealedAad } from '../crypto/sealing.js';
import type { Insert } from './driver.js';
import type { Value } from './query.js';
import type { Table } from './table.js';

/** Actor, place and request of a change; recorded in every audit row. */
export interface AuditContext {
  readonly projectId: string | null;
  readonly actor: { readonly kind: string; readonly id: string };
  /** The server key that acts for the actor with a JWT it has signed. */
  readonly actingKey?: string;
  readonly requestId: string;
  /** Origin of the request; absent for jobs and commands. */
  readonly client?: { readonly ip: string; readonly userAgent: string };
  /** Time that several units of work may wait in all. */
  readonly waits?: Waits | undefined;
  /** Request whose response is stored for its duplicates. */
  readonly idempotent?: IdempotentRequest | undefined;
}

/** The context of changes that a job makes in all projects. */
export function byJob(id: string, requestId = ''): AuditContext {
  return { projectId: null, actor: { kind: 'job', id }, requestId };
}

/** The context of changes that a service makes by itself, in one project or all. */
export function byService(id: string, projectId: string | null = null, requestId = ''): AuditContext {
  return { projectId, actor: { kind: 'service', id }, requestId };
}

/** Details recorded with a change besides its name. */
export interface Recorded<E extends EventName> {
  /** Path of the changed object, such as `users/5f…/sessions/60…`. */
  readonly resource: string;
  readonly payload: EventPayload<E>;
  /** Payload of the event as JSON text, if it differs from `payload`. */
  readonly announce?: string;
  /** Seals the payload of the event, if it must not be stored as it is. */
  readonly seal?: (aad: SealedAad, text: string) => string;
  /** The user whose personal data the payload contains, if any. */
  readonly userId?: string;
  /** The readers of the event, if not this user. */
  readonly audience?: Audience | undefined;
  /** The actor, if one unit works for several. */
  readonly by?: AuditContext;
}

/** Columns of a table that units of work append rows to. */
export type AppendedTable = Omit<Insert, 'rows'>;

/** Appends a row. Rows are inserted right before the commit, with one statement for a whole group of units. */
export type Append = (table: AppendedTable, row: readonly Value[]) => void;

/** Creates a function that appends whole rows to a table. */
export function createAppend<T>({ name, columns, codecs, encode }: Table<T>) {
  const names = Object.keys(columns) as (keyof T)[];
  const numbers = names.filter((key) => codecs[key].storage !== 'text').map((key) => columns[key]);
  const appended: AppendedTable = { table: name, columns: Object.values(columns), numbers: new Set(numbers) };
  return ({ append }: { readonly append: Append }, row: T): void => append(appended, Object.values(encode(row)));
}

/** A change that a unit of work recorded. */
export interface RecordedChange {
  readonly event: EventName;
  readonly recorded: Recorded<EventName>;
  readonly by: AuditContext;
  readonly now: Instant;
}

/** An event of the feed only. */
export interface Announcement {
  /** Path of its subject, such as `teams/5f…`. */
  readonly resource: string;
  /** Payload of the event, as JSON text. */
  readonly data: string;
  /** Absent if the permissions of a document or file decide. */
  readonly audience?: Audience | undefined;
  /** Changed parts of an account or team. Several announcements about one subject are merged and list all parts. */
  readonly changed?: readonly string[];
}

/** Turns changes and announcements of units of work into rows. */
interface Recorder {
  record(change: RecordedChange, append: Append): void;
  announce(event: FeedOnlyEvent, announcement: Announcement, by: AuditContext, now: Instant, append: Append): void;
}

/** Changes and rows that one unit of work collects for its commit. */
interface Entries {
  record<E extends EventName>(event: E, recorded: Recorded<E>): void;
  /** If a unit announces the same event about the same resource several times, the last one counts. */
  announce(event: FeedOnlyEvent, announcement: Announcement): void;
  readonly append: Append;
  inserts(): readonly Insert[];
}

/** Collects the rows that units of work append. */
export interface Outbox {
  /** Registers the recorder, which turns recorded changes into rows. There is only one. */
  recordWith(recorder: Recorder): void;
  open(by: AuditContext, now: Instant): Entries;
}

/** Creates the outbox. Recording throws until a recorder is registered. */
export function createOutbox(): Outbox {
  let recorder: Recorder | undefined;
  const registered = (): Recorder => {
    if (recorder === undefined) throw new TypeError('nothing is registered that records changes');
    return recorder;
  };
  return {
    recordWith: (given) => {
      recorder = given;
    },
    open: (by, now) => {
      const rows = new Map<AppendedTable, (readonly Value[])[]>();
      const append: Append = (table, row) => {
        const ofTable = rows.get(table);
        if (ofTable === undefined) rows.set(table, [row]);
        else ofTable.push(row);
      };
      const announced = new Map<string, Announcement & { readonly event: FeedOnlyEvent }>();
      return {
        record: (event, recorded) => registered().record({ event, recorded, by: recorded.by ?? by, now }, append),
        announce: (event, announcement) => {
          const key = `${event} ${announcement.resource}`;
          const changed = [...(announced.get(key)?.changed ?? []), ...(announcement.changed ?? [])];
          // Deleted first, so that it moves to the end.
          announced.delete(key);
          announced.set(key, { ...announcement, event, changed: [...new Set(changed)] });
        },
        append,
        inserts: () => {
          for (const { event, ...announcement } of announced.values())
            registered().announce(event, announcement, by, now, append);
          announced.clear();
          return Array.from(rows, ([table, values]) => ({ ...table, rows: values }));
        },
      };
    },
  };
}
