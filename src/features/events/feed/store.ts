import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import { oneOf, raw, type SqlPart } from '#src/platform/db/template.js';

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
  return {
    ...numberStatements(sql),
    page: (projectId: string, bounds: PageBounds) => page(sql, projectId, bounds),
    /** The last states of deleted documents and files, by path. */
    lastStates: (projectId: string, resources: readonly string[]) => {
      // Each type has an index of its own, so each query names it.
      const deleted = (type: SqlPart) => sql`
        select resource, data, audience, created_at, id from events
        where project_id = ${projectId} and ${type} and resource ${oneOf(resources)}`;
      return sql`
        ${deleted(raw("type = 'documentDeleted'"))} union all ${deleted(raw("type = 'fileDeleted'"))} order by created_at, id`;
    },
  };
}

/** SQL over the feed. */
export type FeedStore = ReturnType<typeof createFeedStore>;

function numberStatements(sql: Sql) {
  return {
    /** The number of a project's last event and of its first stored one. */
    bounds: (projectId: string) => sql`
      select (select last from event_sequences where project_id = ${projectId}) as last,
        (select min(sequence) from events where project_id = ${projectId} and sequence is not null) as first`,
    /** The last event numbers of projects. */
    lasts: (projectIds: readonly string[]) => sql`
      select projects.id, coalesce(event_sequences.last, 0) as last from projects
      left join event_sequences on event_sequences.project_id = projects.id where projects.id ${oneOf(projectIds)}`,
    /** The number of an event. */
    position: (projectId: string, id: string) =>
      sql`select sequence from events where project_id = ${projectId} and id = ${id} and sequence is not null`,
    /** The number of the first event since a time. */
    since: (projectId: string, time: Instant) => sql`
      select min(sequence) as first from events
      where project_id = ${projectId} and sequence is not null and created_at >= ${time}`,
    /** The lowest number among the `count` newest events that match a filter. */
    newest: (projectId: string, filter: EventFilter, count: number) => sql`
      select min(sequence) as first from (
        select sequence from events where project_id = ${projectId} and sequence is not null ${matches(sql, filter)}
        order by sequence desc limit ${integer(sql, count)}) as newest`,
    /** The number of the last event about each resource, and its count of unnumbered events. */
    latest: (projectId: string, resources: readonly string[]) => sql`
      select resource, max(sequence) as last, sum(case when sequence is null then 1 else 0 end) as unnumbered
      from events where project_id = ${projectId} and resource ${oneOf(resources)} group by resource`,
  };
}

const integer = (sql: Sql, value: number) => raw(sql.words.typed('integer'), [value]);

/** Events after a number, in order, each with the total bytes up to it. Payloads beyond `maxBytes` are null. */
function page(sql: Sql, projectId: string, { after, limit, filter, maxBytes }: PageBounds): Query {
  return sql`
    select id, type, created_at, sequence, resource, audience, bytes,
      case when bytes <= ${integer(sql, maxBytes)} then data end as data
    from (select found.*, sum(octet_length(data)) over (order by sequence) as bytes from (
      select id, type, created_at, sequence, resource, audience, data from events
      where project_id = ${projectId} and sequence > ${integer(sql, after)} ${matches(sql, filter)}
      order by sequence limit ${integer(sql, limit)}
    ) as found) as sized order by sequence`;
}

function matches(sql: Sql, { types, resource }: EventFilter): SqlPart {
  const isBelow =
    resource !== undefined &&
    sql`and (resource = ${resource} or substr(resource, 1, cast(${resource.length + 1} as integer)) = ${`${resource}/`})`;
  return sql`${types.length > 0 && sql`and type ${oneOf(types)}`} ${isBelow}`;
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
