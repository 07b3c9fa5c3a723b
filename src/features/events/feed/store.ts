import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';

/** An event that has its number. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Instant;
  readonly sequence: number;
  /** The payload as JSON text. */
  readonly data: string;
  /** The path of what it is about; null for events from before it was kept. */
  readonly resource: string | null;
  /** An `Audience` as JSON text. */
  readonly audience: string | null;
}

/** Which events are read. */
export interface EventFilter {
  /** Names of events; all where empty. */
  readonly types: readonly string[];
  /** The path of a resource, for events about it and what is below it. */
  readonly resource: string | undefined;
}

/** SQL that reads events by their numbers. */
export function createFeedStore(sql: Sql) {
  const isSqlite = sql.dialect === 'sqlite';
  const isOneOf = (column: string) =>
    isSqlite ? `${column} in (select value from json_each(?))` : `${column} = any(cast(? as text[]))`;
  const integer = isSqlite ? '?' : 'cast(? as bigint)';
  const matching = ({ types, resource }: EventFilter) => ({
    sql: [
      ...(types.length === 0 ? [] : [`and ${isOneOf('type')}`]),
      ...(resource === undefined ? [] : [`and (resource = ? or substr(resource, 1, cast(? as integer)) = ?)`]),
    ].join(' '),
    values: [
      ...(types.length === 0 ? [] : [sql.list(types)]),
      ...(resource === undefined ? [] : [resource, resource.length + 1, `${resource}/`]),
    ],
  });
  return {
    /** The number of the last event of a project, and that of the first which is kept. */
    bounds: (projectId: string): Query =>
      sql.text(
        `select (select last from event_sequences where project_id = ?) as last,
          (select min(sequence) from events where project_id = ? and sequence is not null) as first`,
        [projectId, projectId],
      ),
    /** The last numbers of some projects. */
    lasts: (projectIds: readonly string[]): Query =>
      sql.text(
        `select projects.id, coalesce(event_sequences.last, 0) as last from projects
          left join event_sequences on event_sequences.project_id = projects.id where ${isOneOf('projects.id')}`,
        [sql.list(projectIds)],
      ),
    /** Events after a number, in order: payloads of those that together have at most so many bytes, and the bytes up to each. */
    page: (
      projectId: string,
      { after, limit, filter, maxBytes }: { after: number; limit: number; filter: EventFilter; maxBytes: number },
    ): Query => {
      const match = matching(filter);
      return sql.text(
        `select id, type, created_at, sequence, resource, audience, bytes,
          case when bytes <= ${integer} then data end as data
        from (select found.*, sum(octet_length(data)) over (order by sequence) as bytes from (
          select id, type, created_at, sequence, resource, audience, data from events
          where project_id = ? and sequence > ${integer} ${match.sql} order by sequence limit ${integer}
        ) as found) as sized order by sequence`,
        [maxBytes, projectId, after, ...match.values, limit],
      );
    },
    /** The number of an event. */
    position: (projectId: string, id: string): Query =>
      sql.text('select sequence from events where project_id = ? and id = ? and sequence is not null', [projectId, id]),
    /** The number of the first event since a time. */
    since: (projectId: string, time: Instant): Query =>
      sql.text(
        'select min(sequence) as first from events where project_id = ? and sequence is not null and created_at >= ?',
        [projectId, time],
      ),
    /** The number of the first of the newest events that a filter selects. */
    newest: (projectId: string, filter: EventFilter, count: number): Query => {
      const match = matching(filter);
      return sql.text(
        `select min(sequence) as first from (select sequence from events
          where project_id = ? and sequence is not null ${match.sql} order by sequence desc limit ${integer}) as newest`,
        [projectId, ...match.values, count],
      );
    },
    /** The last states of documents and files that are gone, by their paths. */
    lastStates: (projectId: string, resources: readonly string[]): Query =>
      sql.text(
        ['documentDeleted', 'fileDeleted']
          .map(
            (type) =>
              `select resource, data, audience, created_at, id from events
                where project_id = ? and type = '${type}' and ${isOneOf('resource')}`,
          )
          .join(' union all ')
          .concat(' order by created_at, id'),
        [projectId, sql.list(resources), projectId, sql.list(resources)],
      ),
  };
}

/** The store of events that are read. */
export type FeedStore = ReturnType<typeof createFeedStore>;

/** An event of a row with its payload. */
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
