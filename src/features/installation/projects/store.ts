import type { PlatformType } from '#src/contract/platform.js';
import type { ProjectSettings } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { type SealedColumn, unboundPrefix } from '#src/platform/crypto/sealing.js';
import { deleteSomeOfProject } from '#src/platform/db/project-rows.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import { instant, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';
import { forUpdate, oneOf, raw } from '#src/platform/db/template.js';
import { bind } from '#src/platform/runtime/bind.js';

/** Projects (tenants). `settings` contains only values that differ from the defaults. */
export const projects = table('projects', {
  id: text,
  name: text,
  settings: jsonText<Partial<ProjectSettings>>(),
  /** The project's data key, wrapped with the master key. */
  dataKey: text,
  createdAt: instant,
  updatedAt: instant,
});

/** Platforms: the pages of a host name, or an app, that belong to a project. */
export const platforms = table('platforms', {
  id: text,
  projectId: text,
  name: text,
  type: word<PlatformType>(),
  /** The host name of pages, or the id of an app, which takes its place in the origin. */
  hostname: text,
  createdAt: instant,
  updatedAt: instant,
});

/** Server keys. Only a digest of the secret is stored. */
export const apiKeys = table('api_keys', {
  id: text,
  projectId: text,
  name: text,
  scopes: jsonText<readonly string[]>(),
  secretDigest: text,
  expire: nullable(instant),
  accessedAt: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

/** Projects whose deletion has begun. Requests no longer find them. */
export const projectRemovals = table('project_removals', {
  projectId: text,
  /** Time of the latest step of the deletion. */
  workedAt: instant,
});

/** Ids of deleted projects. They are never reused, as the audit log still contains their entries. */
export const deletedProjects = table('deleted_projects', { id: text });

type ProjectRow = ReturnType<typeof projects.decode>;
type PlatformRow = ReturnType<typeof platforms.decode>;
type KeyRow = ReturnType<typeof apiKeys.decode>;

/** SQL over projects, platforms and server keys. */
export function createProjectStore(sql: Sql) {
  return {
    ...projectStatements(sql),
    ...platformStatements(sql),
    ...keyStatements(sql),
    ...removalStatements(sql),
    ...bind(sql, { unbound, rebind }),
  };
}

/** SQL over projects, platforms and server keys. */
export type ProjectStore = ReturnType<typeof createProjectStore>;

/** Condition for projects that are not being deleted. */
const isKept = raw('not exists (select 1 from project_removals where project_id = projects.id)');

function projectStatements(sql: Sql) {
  return {
    find: ({ id }: { id: string }) => sql`select ${projects.row} from projects where id = ${id} and ${isKept}`,
    first: () => sql`select id from projects where ${isKept} limit 1`,
    list: () => sql`select ${projects.row} from projects where ${isKept} order by created_at, id`,
    insert: (row: ProjectRow) => sql`${projects.insert(row)} on conflict (id) do nothing returning id`,
    update: (id: string, change: Partial<ProjectRow>) =>
      sql`update projects set ${projects.set(change)} where id = ${id}`,
    remove: (id: string) => sql`delete from projects where id = ${id}`,
    keepDeleted: (id: string) => sql`insert into deleted_projects (id) values (${id}) on conflict do nothing`,
    findDeleted: (id: string) => sql`select id from deleted_projects where id = ${id}`,
    listDeleted: () => sql`select ${deletedProjects.row} from deleted_projects`,
    /** Locks the project until the end of the unit, so that concurrent units count one after the other. */
    hold: (id: string) => sql`select id from projects where id = ${id}${forUpdate}`,
    /** Projects whose data key still opens unbound values of the first version. */
    unboundKeys: () => sql`select ${projects.row} from projects where data_key like ${`${unboundPrefix}%`}`,
  };
}

function removalStatements(sql: Sql) {
  return {
    /** A project whose deletion has begun. */
    findRemoved: (id: string) => sql`select ${projects.row} from projects where id = ${id} and not ${isKept}`,
    beginRemoval: (projectId: string, workedAt: Instant) =>
      sql`${projectRemovals.insert({ projectId, workedAt })} on conflict do nothing`,
    noteRemoval: (projectId: string, workedAt: Instant) =>
      sql`update project_removals set worked_at = ${workedAt} where project_id = ${projectId}`,
    /** Deletions without a step between two times. A time in the future is of a clock that was set back. */
    interruptedRemovals: (from: Instant, to: Instant) =>
      sql`select ${projectRemovals.row} from project_removals where worked_at not between ${from} and ${to}`,
    removeSome: (name: string, projectId: string, limit: number): Query =>
      deleteSomeOfProject(sql, name, projectId, limit),
  };
}

function platformStatements(sql: Sql) {
  return {
    platforms: ({ projectId }: { projectId: string }) =>
      sql`select ${platforms.row} from platforms where project_id = ${projectId} order by created_at, id`,
    findPlatform: (projectId: string, id: string) =>
      sql`select ${platforms.row} from platforms where project_id = ${projectId} and id = ${id}`,
    countPlatforms: (projectId: string) => sql`select count(*) as count from platforms where project_id = ${projectId}`,
    platformsById: (id: string) => sql`select ${platforms.row} from platforms where id = ${id} limit 2`,
    insertPlatform: (row: PlatformRow) => sql`${platforms.insert(row)} on conflict do nothing returning id`,
    updatePlatform: (projectId: string, id: string, change: Partial<PlatformRow>) =>
      sql`update platforms set ${platforms.set(change)} where project_id = ${projectId} and id = ${id}`,
    removePlatform: (projectId: string, id: string) =>
      sql`delete from platforms where project_id = ${projectId} and id = ${id}`,
    anyPlatform: (types: readonly PlatformType[], hostnames: readonly string[]) =>
      sql`select id from platforms where type ${oneOf(types)} and lower(hostname) ${oneOf(hostnames)} limit 1`,
  };
}

function keyStatements(sql: Sql) {
  return {
    findKey: ({ id }: { id: string }) => sql`select ${apiKeys.row} from api_keys where id = ${id}`,
    keys: (projectId: string) =>
      sql`select ${apiKeys.row} from api_keys where project_id = ${projectId} order by created_at, id`,
    countKeys: (projectId: string) => sql`select count(*) as count from api_keys where project_id = ${projectId}`,
    insertKey: (row: KeyRow) => sql`${apiKeys.insert(row)}`,
    touchKey: (id: string, accessedAt: Instant) =>
      sql`update api_keys set accessed_at = ${accessedAt} where id = ${id}`,
    removeKey: (id: string) => sql`delete from api_keys where id = ${id}`,
  };
}

/** Unbound sealed values of the first version, after a row, in primary key order. */
function unbound(sql: Sql, from: SealedColumn, after: readonly Value[] | null, limit: number): Query {
  const { table: name, column, key, order } = from;
  const columns = [...new Set(['project_id', key, ...order]), `${column} as sealed`];
  const places = order.map(() => '?').join(', ');
  return sql`
    select ${raw(columns.join(', '))} from ${raw(name)} where ${raw(column)} like ${`${unboundPrefix}%`}
    ${after !== null && raw(`and (${order.join(', ')}) > (${places})`, after)}
    order by ${raw(order.join(', '))} limit ${limit}`;
}

/** Replaces a value of a row. Changes no row if the value has changed concurrently. */
function rebind(
  sql: Sql,
  { table: name, column, key }: SealedColumn,
  { projectId, row, before, after }: { projectId: string; row: string; before: string; after: string },
): Query {
  const sealed = raw(column);
  return sql`
    update ${raw(name)} set ${sealed} = ${after}
    where project_id = ${projectId} and ${raw(key)} = ${row} and ${sealed} = ${before}`;
}
