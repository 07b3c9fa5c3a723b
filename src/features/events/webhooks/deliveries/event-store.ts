import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';

/** A delivery to be made of an event: its id, the webhook's, and the event's. */
export type DeliveryDraft = readonly [id: string, webhookId: string, eventId: string];

/** The channel by which Postgres tells the other processes that a project has events with new numbers. */
export const numberedChannel = 'svc_events';

/** How many events get numbers, and after which. */
interface Numbers {
  readonly last: number;
  readonly now: Instant;
  readonly limit: number;
}

/** SQL that turns events into deliveries. What events carry leaves the database to be posted only. */
export function createEventStore(sql: Sql) {
  const rows = sql.dialect === 'sqlite' ? 'json_each(?) as given' : 'json_array_elements(?::json) as given';
  const keyShare = sql.dialect === 'sqlite' ? '' : 'for key share';
  const number = (projectId: string, { last, now, limit }: Numbers, returning = ''): Query =>
    sql.text(
      `update events set sequence = cast(? as bigint) + waiting.place, dispatched_at = ?
        from (select id as waiting_id, row_number() over (order by id) as place from (
          select id from events where project_id = ? and dispatched_at is null order by id limit ?) as oldest
        ) as waiting where events.id = waiting.waiting_id ${returning}`,
      [last, now, projectId, limit],
    );
  return {
    /** The projects with events that wait, found one after the other by the index. */
    waitingProjects: (): Query =>
      sql.text(
        `with recursive waiting (id) as (
          select min(project_id) from events where dispatched_at is null
          union all
          select (select min(project_id) from events where dispatched_at is null and project_id > waiting.id)
          from waiting where waiting.id is not null
        ) select id from waiting where id is not null`,
        [],
      ),
    /** The last number given in a project, held until the end of the unit; no row where there is no such project. */
    lockSequence: (projectId: string): Query =>
      sql.text(
        `insert into event_sequences (project_id, last) select id, 0 from projects where id = ?
        on conflict (project_id) do update set last = event_sequences.last returning last`,
        [projectId],
      ),
    advanceSequence: (projectId: string, last: number): Query =>
      sql.text('update event_sequences set last = ? where project_id = ?', [last, projectId]),
    /** Tells other processes at the commit, where the database can. */
    notify: (projectId: string): readonly Query[] =>
      sql.dialect === 'sqlite' ? [] : [sql.text('select pg_notify(?, ?)', [numberedChannel, projectId])],
    /** The enabled webhooks of a project; they cannot be removed until the end of the unit. */
    subscribers: (projectId: string): Query =>
      sql.text(`select id, events from webhooks where project_id = ? and enabled = 1 ${keyShare}`, [projectId]),
    /** Numbers the oldest events that wait, from the number after `last` on. */
    number: (projectId: string, numbers: Numbers): Query => number(projectId, numbers),
    /** The same, and returns them. */
    numberSome: (projectId: string, numbers: Numbers): Query =>
      number(projectId, numbers, 'returning id, type, sequence'),
    insertDeliveries: (projectId: string, drafts: readonly DeliveryDraft[], now: Instant): Query =>
      sql.text(
        `insert into deliveries (id, project_id, webhook_id, event_id, event, state, attempt, due_at, fence, replayed,
          sequence, bytes, created_at, updated_at)
        select given.value ->> 0, events.project_id, given.value ->> 1, events.id, events.type, 'pending', 0, ?, 0, 0,
          events.sequence, octet_length(events.data), events.created_at, ?
        from ${rows} join events on events.id = given.value ->> 2 where events.project_id = ?
        on conflict (event_id, webhook_id) do nothing`,
        [now, now, JSON.stringify(drafts), projectId],
      ),
    /** Removes the events of a project: those that wait, and those that have a number. */
    remove: (projectId: string): readonly Query[] =>
      ['dispatched_at is null', 'sequence is not null'].map((which) =>
        sql.text(`delete from events where project_id = ? and ${which}`, [projectId]),
      ),
    /** Removes some of the events of a project that have a number. */
    removeSome: (projectId: string, limit: number): Query =>
      sql.text(
        `delete from events where id in (
          select id from events where project_id = ? and sequence is not null order by sequence limit ?)`,
        [projectId, limit],
      ),
    sequences: (): Query => sql.text('select project_id from event_sequences', []),
    oldestWaiting: (): Query =>
      sql.text('select min(created_at) as oldest from events where dispatched_at is null', []),
    /** Removes some events that were fanned out before a time and of which no delivery waits; the oldest are looked at only. */
    prune: (projectId: string, before: Instant, limit: number): Query =>
      sql.text(
        `delete from events where id in (select id from (
          select id, dispatched_at from events where project_id = ? and sequence is not null
            and id not in (select event_id from deliveries where due_at is not null and created_at < ?)
          order by sequence limit ?
        ) as oldest where dispatched_at < ?)`,
        [projectId, before, limit, before],
      ),
  };
}

/** The store of events on their way. */
export type EventStore = ReturnType<typeof createEventStore>;
