import type { PlatformType } from '#src/contract/platform.js';
import type { ProjectSettings } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { type SealedColumn, unboundPrefix } from '#src/platform/crypto/sealing.js';
import { deleteSomeOfProject } from '#src/platform/db/project-rows.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import { instant, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';
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

type ProjectRow = Parameters<typeof projects.encode>[0];
type PlatformRow = Parameters<typeof platforms.encode>[0];
type KeyRow = Parameters<typeof apiKeys.encode>[0];

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
const isKept = `not exists (select 1 from ${projectRemovals.name} where project_id = projects.id)`;

function projectStatements(sql: Sql) {
  const { knex } = sql;
  return {
    find: sql.prepare<{ id: string }>((k, p) =>
      k(projects.name).where('id', p.id).whereRaw(isKept).select(projects.select(sql)),
    ),
    first: (): Query => sql.compile(knex(projects.name).whereRaw(isKept).select('id').limit(1)),
    list: (): Query =>
      sql.compile(knex(projects.name).whereRaw(isKept).orderBy(['created_at', 'id']).select(projects.select(sql))),
    insert: (row: ProjectRow): Query =>
      sql.compile(knex(projects.name).insert(projects.encode(row)).onConflict(['id']).ignore().returning('id')),
    update: (id: string, change: Partial<ProjectRow>): Query =>
      sql.compile(knex(projects.name).where({ id }).update(projects.encodeSome(change))),
    remove: (id: string): Query => sql.compile(knex(projects.name).where({ id }).delete()),
    keepDeleted: (id: string): Query => sql.compile(knex(deletedProjects.name).insert({ id }).onConflict().ignore()),
    findDeleted: (id: string): Query => sql.compile(knex(deletedProjects.name).where({ id }).select('id')),
    listDeleted: (): Query => sql.compile(knex(deletedProjects.name).select(deletedProjects.select(sql))),
    /** Locks the project until the end of the unit, so that concurrent units count one after the other. */
    hold: (id: string): Query => sql.compile(knex(projects.name).where({ id }).forUpdate().select('id')),
    /** Projects whose data key still opens unbound values of the first version. */
    unboundKeys: (): Query =>
      sql.compile(knex(projects.name).where('data_key', 'like', `${unboundPrefix}%`).select(projects.select(sql))),
  };
}

function removalStatements(sql: Sql) {
  const { knex } = sql;
  return {
    /** A project whose deletion has begun. */
    findRemoved: (id: string): Query =>
      sql.compile(knex(projects.name).where({ id }).whereRaw(`not ${isKept}`).select(projects.select(sql))),
    beginRemoval: (projectId: string, workedAt: Instant): Query =>
      sql.compile(
        knex(projectRemovals.name).insert(projectRemovals.encode({ projectId, workedAt })).onConflict().ignore(),
      ),
    noteRemoval: (projectId: string, workedAt: Instant): Query =>
      sql.compile(knex(projectRemovals.name).where({ project_id: projectId }).update({ worked_at: workedAt })),
    /** Deletions without a step between two times. A time in the future is of a clock that was set back. */
    interruptedRemovals: (from: Instant, to: Instant): Query =>
      sql.compile(
        knex(projectRemovals.name).whereNotBetween('worked_at', [from, to]).select(projectRemovals.select(sql)),
      ),
    removeSome: (name: string, projectId: string, limit: number): Query =>
      deleteSomeOfProject(sql, name, projectId, limit),
  };
}

function platformStatements(sql: Sql) {
  const { knex } = sql;
  return {
    platforms: sql.prepare<{ projectId: string }>((k, p) =>
      k(platforms.name).where('project_id', p.projectId).orderBy(['created_at', 'id']).select(platforms.select(sql)),
    ),
    findPlatform: (projectId: string, id: string): Query =>
      sql.compile(knex(platforms.name).where({ project_id: projectId, id }).select(platforms.select(sql))),
    countPlatforms: (projectId: string): Query =>
      sql.compile(knex(platforms.name).where({ project_id: projectId }).count({ count: '*' })),
    platformsById: (id: string): Query =>
      sql.compile(knex(platforms.name).where({ id }).limit(2).select(platforms.select(sql))),
    insertPlatform: (row: PlatformRow): Query =>
      sql.compile(knex(platforms.name).insert(platforms.encode(row)).onConflict().ignore().returning('id')),
    updatePlatform: (projectId: string, id: string, change: Partial<PlatformRow>): Query =>
      sql.compile(knex(platforms.name).where({ project_id: projectId, id }).update(platforms.encodeSome(change))),
    removePlatform: (projectId: string, id: string): Query =>
      sql.compile(knex(platforms.name).where({ project_id: projectId, id }).delete()),
    anyPlatform: (types: readonly PlatformType[], hostnames: readonly string[]): Query =>
      sql.compile(
        knex(platforms.name)
          .whereIn('type', types)
          .whereRaw(`lower(hostname) in (${hostnames.map(() => '?').join(', ')})`, [...hostnames])
          .limit(1)
          .select('id'),
      ),
  };
}

function keyStatements(sql: Sql) {
  const { knex } = sql;
  return {
    findKey: sql.prepare<{ id: string }>((k, p) => k(apiKeys.name).where('id', p.id).select(apiKeys.select(sql))),
    keys: (projectId: string): Query =>
      sql.compile(
        knex(apiKeys.name).where({ project_id: projectId }).orderBy(['created_at', 'id']).select(apiKeys.select(sql)),
      ),
    countKeys: (projectId: string): Query =>
      sql.compile(knex(apiKeys.name).where({ project_id: projectId }).count({ count: '*' })),
    insertKey: (row: KeyRow): Query => sql.compile(knex(apiKeys.name).insert(apiKeys.encode(row))),
    touchKey: (id: string, accessedAt: Instant): Query =>
      sql.compile(knex(apiKeys.name).where({ id }).update({ accessed_at: accessedAt })),
    removeKey: (id: string): Query => sql.compile(knex(apiKeys.name).where({ id }).delete()),
  };
}

/** Unbound sealed values of the first version, after a row, in primary key order. */
function unbound({ compile, knex }: Sql, from: SealedColumn, after: readonly Value[] | null, limit: number): Query {
  const { table: name, column, key, order } = from;
  const rows = knex(name)
    .where(column, 'like', `${unboundPrefix}%`)
    .limit(limit)
    .orderBy([...order]);
  if (after !== null) rows.whereRaw(`(${order.join(', ')}) > (${order.map(() => '?').join(', ')})`, [...after]);
  return compile(rows.select([...new Set(['project_id', key, ...order]), `${column} as sealed`]));
}

/** Replaces a value of a row. Changes no row if the value has changed concurrently. */
function rebind(
  { compile, knex }: Sql,
  { table: name, column, key }: SealedColumn,
  { projectId, row, before, after }: { projectId: string; row: string; before: string; after: string },
): Query {
  const isUnchanged = { project_id: projectId, [key]: row, [column]: before };
  const change = { [column]: after };
  return compile(knex(name).where(isUnchanged).update(change));
}
