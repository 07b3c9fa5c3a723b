import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
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
    ...bind(sql, { waitingProjects, lockSequence, advanceSequence, sequences, notify, subscribers, oldestWaiting }),
    ...bind(sql, { insertDeliveries, remove, removeSome, prune }),
    /** Numbers the oldest unnumbered events, starting after `last`. */
    number: (projectId: string, numbers: Numbers) => number(sql, projectId, numbers, ''),
    /** Like `number`, but returns the events. */
    numberSome: (projectId: string, numbers: Numbers) =>
      number(sql, projectId, numbers, 'returning id, type, sequence'),
  };
}

/** SQL that numbers, fans out and deletes events. */
export type EventStore = ReturnType<typeof createEventStore>;

/** Projects with unnumbered events, found one after another by the index. */
function waitingProjects(sql: Sql): Query {
  return sql.text(
    `with recursive waiting (id) as (
          select min(project_id) from events where dispatched_at is null
          union all
          select (select min(project_id) from events where dispatched_at is null and project_id > waiting.id)
          from waiting where waiting.id is not null
        ) select id from waiting where id is not null`,
    [],
  );
}

/** Locks the last number of a project until the end of the unit. Returns no row if there is no such project. */
function lockSequence(sql: Sql, projectId: string): Query {
  return sql.text(
    `insert into event_sequences (project_id, last) select id, 0 from projects where id = ?
        on conflict (project_id) do update set last = event_sequences.last returning last`,
    [projectId],
  );
}

function advanceSequence(sql: Sql, projectId: string, last: number): Query {
  return sql.text('update event_sequences set last = ? where project_id = ?', [last, projectId]);
}

function sequences(sql: Sql): Query {
  return sql.text('select project_id from event_sequences', []);
}

/** Notifies other processes on commit, if the database has notifications. */
function notify(sql: Sql, projectId: string): readonly Query[] {
  const { notify: query } = sql.words;
  return query === undefined ? [] : [sql.text(query, [numberedChannel, projectId])];
}

/** The enabled webhooks of a project. Locks them against deletion until the end of the unit. */
function subscribers(sql: Sql, projectId: string): Query {
  return sql.text(`select id, events from webhooks where project_id = ? and enabled = 1${sql.words.forKeyShare}`, [
    projectId,
  ]);
}

function oldestWaiting(sql: Sql): Query {
  return sql.text('select min(created_at) as oldest from events where dispatched_at is null', []);
}

function number(sql: Sql, projectId: string, { last, now, limit }: Numbers, returning: string): Query {
  return sql.text(
    `update events set sequence = cast(? as bigint) + waiting.place, dispatched_at = ?
        from (select id as waiting_id, row_number() over (order by id) as place from (
          select id from events where project_id = ? and dispatched_at is null order by id limit ?) as oldest
        ) as waiting where events.id = waiting.waiting_id ${returning}`,
    [last, now, projectId, limit],
  );
}

function insertDeliveries(sql: Sql, projectId: string, drafts: readonly DeliveryDraft[], now: Instant): Query {
  return sql.text(
    `insert into deliveries (id, project_id, webhook_id, event_id, event, state, attempt, due_at, fence, replayed,
          sequence, bytes, created_at, updated_at)
        select given.value ->> 0, events.project_id, given.value ->> 1, events.id, events.type, 'pending', 0, ?, 0, 0,
          events.sequence, octet_length(events.data), events.created_at, ?
        from ${sql.words.eachInJson('given')} join events on events.id = given.value ->> 2 where events.project_id = ?
        on conflict (event_id, webhook_id) do nothing`,
    [now, now, JSON.stringify(drafts), projectId],
  );
}

/** Deletes the events of a project, unnumbered and numbered. */
function remove(sql: Sql, projectId: string): readonly Query[] {
  return ['dispatched_at is null', 'sequence is not null'].map((which) =>
    sql.text(`delete from events where project_id = ? and ${which}`, [projectId]),
  );
}

/** Deletes the oldest events of a project that have a number, or those without one. */
function removeSome(sql: Sql, projectId: string, which: 'numbered' | 'unnumbered', limit: number): Query {
  const [rows, order] = which === 'numbered' ? ['sequence is not null', 'sequence'] : ['dispatched_at is null', 'id'];
  return sql.text(
    `delete from events where id in (
          select id from events where project_id = ? and ${rows} order by ${order} limit ?)`,
    [projectId, limit],
  );
}

/** Deletes events numbered before a time, except those with waiting deliveries. Reads only the oldest events. */
function prune(sql: Sql, projectId: string, before: Instant, limit: number): Query {
  return sql.text(
    `delete from events where id in (select id from (
          select id, dispatched_at from events where project_id = ? and sequence is not null
            and id not in (select event_id from deliveries where due_at is not null and created_at < ?)
          order by sequence limit ?
        ) as oldest where dispatched_at < ?)`,
    [projectId, before, limit, before],
  );
}
