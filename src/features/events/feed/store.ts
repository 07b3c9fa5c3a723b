import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import { bind } from '#src/platform/runtime/bind.js';

/** A numbered event. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Instant;
  readonly sequence: number;
  /** Payload as JSON text. */
  readonly data: string;
  /** The path of the resource; null for events from before paths were stored. */
  readonly resource: string | null;
  /** An `Audience` as JSON text. */
  readonly audience: string | null;
}

/** Filter of events. */
export interface EventFilter {
  /** Names of events; empty for all. */
  readonly types: readonly string[];
  /** The path of a resource. Matches events about it and about resources below it. */
  readonly resource: string | undefined;
}

/** Selects a page: at most `limit` events, with payloads of at most `maxBytes` in total. */
interface PageBounds {
  readonly after: number;
  readonly limit: number;
  readonly filter: EventFilter;
  readonly maxBytes: number;
}

/** SQL that reads events by their numbers. */
export function createFeedStore(sql: Sql) {
  return bind(sql, { bounds, lasts, page, position, since, newest, latest, lastStates });
}

/** SQL over the feed. */
export type FeedStore = ReturnType<typeof createFeedStore>;

/** The number of a project's last event and of its first stored one. */
function bounds(sql: Sql, projectId: string): Query {
  return sql.text(
    `select (select last from event_sequences where project_id = ?) as last,
          (select min(sequence) from events where project_id = ? and sequence is not null) as first`,
    [projectId, projectId],
  );
}

/** The last event numbers of projects. */
function lasts(sql: Sql, projectIds: readonly string[]): Query {
  return sql.text(
    `select projects.id, coalesce(event_sequences.last, 0) as last from projects
          left join event_sequences on event_sequences.project_id = projects.id where projects.id ${sql.words.isOneOf}`,
    [sql.list(projectIds)],
  );
}

/** Events after a number, in order, each with the total bytes up to it. Payloads beyond `maxBytes` are null. */
function page(sql: Sql, projectId: string, { after, limit, filter, maxBytes }: PageBounds): Query {
  const match = matching(sql, filter);
  const integer = sql.words.typed('integer');
  return sql.text(
    `select id, type, created_at, sequence, resource, audience, bytes,
          case when bytes <= ${integer} then data end as data
        from (select found.*, sum(octet_length(data)) over (order by sequence) as bytes from (
          select id, type, created_at, sequence, resource, audience, data from events
          where project_id = ? and sequence > ${integer} ${match.sql} order by sequence limit ${integer}
        ) as found) as sized order by sequence`,
    [maxBytes, projectId, after, ...match.values, limit],
  );
}

function matching(sql: Sql, { types, resource }: EventFilter) {
  return {
    sql: [
      ...(types.length === 0 ? [] : [`and type ${sql.words.isOneOf}`]),
      ...(resource === undefined ? [] : [`and (resource = ? or substr(resource, 1, cast(? as integer)) = ?)`]),
    ].join(' '),
    values: [
      ...(types.length === 0 ? [] : [sql.list(types)]),
      ...(resource === undefined ? [] : [resource, resource.length + 1, `${resource}/`]),
    ],
  };
}

/** The number of an event. */
function position(sql: Sql, projectId: string, id: string): Query {
  const text = 'select sequence from events where project_id = ? and id = ? and sequence is not null';
  return sql.text(text, [projectId, id]);
}

/** The number of the first event since a time. */
function since(sql: Sql, projectId: string, time: Instant): Query {
  return sql.text(
    'select min(sequence) as first from events where project_id = ? and sequence is not null and created_at >= ?',
    [projectId, time],
  );
}

/** The lowest number among the `count` newest events that match a filter. */
function newest(sql: Sql, projectId: string, filter: EventFilter, count: number): Query {
  const match = matching(sql, filter);
  return sql.text(
    `select min(sequence) as first from (select sequence from events
          where project_id = ? and sequence is not null ${match.sql} order by sequence desc limit ${sql.words.typed('integer')}) as newest`,
    [projectId, ...match.values, count],
  );
}

/** The number of the last event about each resource, and its count of unnumbered events. */
function latest(sql: Sql, projectId: string, resources: readonly string[]): Query {
  return sql.text(
    `select resource, max(sequence) as last, sum(case when sequence is null then 1 else 0 end) as unnumbered
          from events where project_id = ? and resource ${sql.words.isOneOf} group by resource`,
    [projectId, sql.list(resources)],
  );
}

/** The last states of deleted documents and files, by path. */
function lastStates(sql: Sql, projectId: string, resources: readonly string[]): Query {
  const states = ['documentDeleted', 'fileDeleted'].map(
    (type) =>
      `select resource, data, audience, created_at, id from events
                where project_id = ? and type = '${type}' and resource ${sql.words.isOneOf}`,
  );
  return sql.text(`${states.join(' union all ')} order by created_at, id`, [
    projectId,
    sql.list(resources),
    projectId,
    sql.list(resources),
  ]);
}

/** Decodes a row with its payload. */
export function toStoredEvent(row: Row): StoredEvent {
  return {
    id: String(row.id),
    type: String(row.type),
    createdAt: String(row.created_at),
    sequence: Number(row.sequence),
    data: String(row.data),
    resource: row.resource === null ? null : String(row.resource),
    audience: row.audience === null ? null : String(row.audience),
  };
}
