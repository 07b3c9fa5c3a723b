import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { forKeyShare, raw } from '#src/platform/db/template.js';
import { bind } from '#src/platform/runtime/bind.js';

/** A new delivery of an event to a webhook. */
export type DeliveryDraft = readonly [id: string, webhookId: string, eventId: string];

/** Postgres notification channel: tells other processes that a project has newly numbered events. */
export const numberedChannel = 'svc_events';

/** Parameters of a numbering: the last number so far, the time, and the maximum number of events. */
interface Numbers {
  readonly last: number;
  readonly now: Instant;
  readonly limit: number;
}

/** SQL that numbers events and creates their deliveries. Payloads stay in the database until a delivery is claimed. */
export function createEventStore(sql: Sql) {
  return {
    ...projectStatements(sql),
    ...removalStatements(sql),
    ...bind(sql, { notify, insertDeliveries }),
    /** Numbers the oldest unnumbered events, starting after `last`. */
    number: (projectId: string, numbers: Numbers) => number(sql, projectId, numbers, false),
    /** Like `number`, but returns the events. */
    numberSome: (projectId: string, numbers: Numbers) => number(sql, projectId, numbers, true),
  };
}

/** SQL that numbers, fans out and deletes events. */
export type EventStore = ReturnType<typeof createEventStore>;

function projectStatements(sql: Sql) {
  return {
    /** Projects with unnumbered events, found one after another by the index. */
    waitingProjects: () => sql`
      with recursive waiting (id) as (
        select min(project_id) from events where dispatched_at is null
        union all
        select (select min(project_id) from events where dispatched_at is null and project_id > waiting.id)
        from waiting where waiting.id is not null
      ) select id from waiting where id is not null`,
    oldestWaiting: () => sql`select min(created_at) as oldest from events where dispatched_at is null`,
    sequences: () => sql`select project_id from event_sequences`,
    /** Locks the last number of a project until the end of the unit. Returns no row if there is no such project. */
    lockSequence: (projectId: string) => sql`
      insert into event_sequences (project_id, last) select id, 0 from projects where id = ${projectId}
      on conflict (project_id) do update set last = event_sequences.last returning last`,
    advanceSequence: (projectId: string, last: number) =>
      sql`update event_sequences set last = ${last} where project_id = ${projectId}`,
    /** The enabled webhooks of a project. Locks them against deletion until the end of the unit. */
    subscribers: (projectId: string) =>
      sql`select id, events from webhooks where project_id = ${projectId} and enabled = 1${forKeyShare}`,
  };
}

function removalStatements(sql: Sql) {
  return {
    /** Deletes the events of a project, unnumbered and numbered. */
    remove: (projectId: string): readonly Query[] => [
      sql`delete from events where project_id = ${projectId} and dispatched_at is null`,
      sql`delete from events where project_id = ${projectId} and sequence is not null`,
    ],
    /** Deletes the oldest events of a project that have a number, or those without one. */
    removeSome: (projectId: string, which: 'numbered' | 'unnumbered', limit: number) => sql`
      delete from events where id in (
        select id from events where project_id = ${projectId} and
          ${raw(which === 'numbered' ? 'sequence is not null order by sequence' : 'dispatched_at is null order by id')}
        limit ${limit})`,
    /** Deletes events numbered before a time, except those with waiting deliveries. Reads only the oldest events. */
    prune: (projectId: string, before: Instant, limit: number) => sql`
      delete from events where id in (select id from (
        select id, dispatched_at from events where project_id = ${projectId} and sequence is not null
          and id not in (select event_id from deliveries where due_at is not null and created_at < ${before})
        order by sequence limit ${limit}
      ) as oldest where dispatched_at < ${before})`,
  };
}

/** Notifies other processes on commit, if the database has notifications. */
function notify(sql: Sql, projectId: string): readonly Query[] {
  const { notify: query } = sql.words;
  return query === undefined ? [] : [sql`${raw(query, [numberedChannel, projectId])}`];
}

function number(sql: Sql, projectId: string, { last, now, limit }: Numbers, isReturning: boolean): Query {
  return sql`
    update events set sequence = cast(${last} as bigint) + waiting.place, dispatched_at = ${now}
    from (select id as waiting_id, row_number() over (order by id) as place from (
        select id from events where project_id = ${projectId} and dispatched_at is null order by id limit ${limit}
      ) as oldest
    ) as waiting where events.id = waiting.waiting_id ${isReturning && raw('returning id, type, sequence')}`;
}

function insertDeliveries(sql: Sql, projectId: string, drafts: readonly DeliveryDraft[], now: Instant): Query {
  return sql`
    insert into deliveries (id, project_id, webhook_id, event_id, event, state, attempt, due_at, fence, replayed,
      sequence, bytes, created_at, updated_at)
    select given.value ->> 0, events.project_id, given.value ->> 1, events.id, events.type, 'pending', 0, ${now}, 0, 0,
      events.sequence, octet_length(events.data), events.created_at, ${now}
    from ${raw(sql.words.eachInJson('given'), [JSON.stringify(drafts)])}
    join events on events.id = given.value ->> 2 where events.project_id = ${projectId}
    on conflict (event_id, webhook_id) do nothing`;
}
