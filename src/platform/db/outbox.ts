import type { Audience, EventName, EventPayload, FeedOnlyEvent } from '#src/contract/events.js';
import type { IdempotentRequest } from '#src/contract/idempotency.js';
import type { Waits } from '#src/contract/operation.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Insert } from './driver.js';
import type { Value } from './query.js';

/** On whose behalf, where and for which request something is done; every audit row says so. */
export interface AuditContext {
  readonly projectId: string | null;
  readonly actor: { readonly kind: string; readonly id: string };
  /** The server key that acts for the actor, by a JWT that it has made. */
  readonly actingKey?: string;
  readonly requestId: string;
  /** Where the request came from; absent for jobs and commands. */
  readonly client?: { readonly ip: string; readonly userAgent: string };
  /** Where several units of work share the time for which they may wait. */
  readonly waits?: Waits | undefined;
  /** Where the answer is kept, for duplicates of the request. */
  readonly idempotent?: IdempotentRequest | undefined;
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
  /** Who may read the event, where that is not this user. */
  readonly audience?: Audience | undefined;
  /** Who does it, where a unit does the work of several. */
  readonly by?: AuditContext;
}

/** Columns of a table that units of work append rows to. */
export type AppendedTable = Omit<Insert, 'rows'>;

/** Appends a row, which is written right before the commit: the rows of a whole group of units in one statement. */
export type Append = (table: AppendedTable, row: readonly Value[]) => void;

/** A change that a unit of work recorded. */
export interface RecordedChange {
  readonly event: EventName;
  readonly recorded: Recorded<EventName>;
  readonly by: AuditContext;
  readonly now: Instant;
}

/** An event of the feed only. */
export interface Announcement {
  /** Path of what it is about, such as `teams/5f…`. */
  readonly resource: string;
  /** What the event carries, as JSON text. */
  readonly data: string;
  /** Absent where the permissions of a document or file decide. */
  readonly audience?: Audience | undefined;
}

/** Turns what units of work leave behind into rows. */
interface Recorder {
  record(change: RecordedChange, append: Append): void;
  announce(event: FeedOnlyEvent, announcement: Announcement, by: AuditContext, now: Instant, append: Append): void;
}

/** What one unit of work leaves behind for its commit. */
interface Entries {
  record<E extends EventName>(event: E, recorded: Recorded<E>): void;
  /** Of several of one name about one thing the last counts. */
  announce(event: FeedOnlyEvent, announcement: Announcement): void;
  readonly append: Append;
  inserts(): readonly Insert[];
}

/** Collects the rows that units of work append. */
export interface Outbox {
  /** Registers what turns recorded changes into rows; there is one. */
  recordWith(recorder: Recorder): void;
  open(by: AuditContext, now: Instant): Entries;
}

/** Creates the outbox. Until a recorder is registered, recording throws. */
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
      const announced = new Map<string, () => void>();
      return {
        record: (event, recorded) => registered().record({ event, recorded, by: recorded.by ?? by, now }, append),
        announce: (event, announcement) => {
          const key = `${event} ${announcement.resource}`;
          // It takes the place of the last.
          announced.delete(key);
          announced.set(key, () => registered().announce(event, announcement, by, now, append));
        },
        append,
        inserts: () => {
          for (const add of announced.values()) add();
          announced.clear();
          return Array.from(rows, ([table, values]) => ({ ...table, rows: values }));
        },
      };
    },
  };
}
