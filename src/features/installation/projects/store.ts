import type { ProjectSettings } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import { instant, json, nullable, table, text } from '#src/platform/db/table.js';
import { type SealedColumn, unboundPrefix } from '#src/platform/sealing.js';

/** A tenant. Settings hold only what differs from the defaults. */
export const projects = table('projects', {
  id: text,
  name: text,
  settings: json<Partial<ProjectSettings>>(),
  /** The project's data key, wrapped by the master key. */
  dataKey: text,
  createdAt: instant,
  updatedAt: instant,
});

/** A web origin of a project. */
export const platforms = table('platforms', {
  id: text,
  projectId: text,
  name: text,
  hostname: text,
  createdAt: instant,
  updatedAt: instant,
});

/** A server key; of the secret only its digest. */
export const apiKeys = table('api_keys', {
  id: text,
  projectId: text,
  name: text,
  scopes: json<readonly string[]>(),
  secretDigest: text,
  expire: nullable(instant),
  accessedAt: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

/** Ids of projects that were deleted, which are never given again: the audit log still has their entries. */
export const deletedProjects = table('deleted_projects', { id: text });

type ProjectRow = Parameters<typeof projects.encode>[0];
type PlatformRow = Parameters<typeof platforms.encode>[0];
type KeyRow = Parameters<typeof apiKeys.encode>[0];

/** SQL over projects, platforms and server keys. */
export function createProjectStore(sql: Sql) {
  const { knex } = sql;
  return {
    find: sql.prepare<{ id: string }>((k, p) => k(projects.name).where('id', p.id).select(projects.select(sql))),
    first: (): Query => sql.compile(knex(projects.name).select('id').limit(1)),
    list: (): Query => sql.compile(knex(projects.name).orderBy(['created_at', 'id']).select(projects.select(sql))),
    insert: (row: ProjectRow): Query =>
      sql.compile(knex(projects.name).insert(projects.encode(row)).onConflict(['id']).ignore().returning('id')),
    update: (id: string, change: Partial<ProjectRow>): Query =>
      sql.compile(knex(projects.name).where({ id }).update(projects.encodeSome(change))),
    remove: (id: string): Query => sql.compile(knex(projects.name).where({ id }).delete()),
    keepDeleted: (id: string): Query => sql.compile(knex(deletedProjects.name).insert({ id }).onConflict().ignore()),
    findDeleted: (id: string): Query => sql.compile(knex(deletedProjects.name).where({ id }).select('id')),
    listDeleted: (): Query => sql.compile(knex(deletedProjects.name).select(deletedProjects.select(sql))),

    platforms: sql.prepare<{ projectId: string }>((k, p) =>
      k(platforms.name).where('project_id', p.projectId).orderBy(['created_at', 'id']).select(platforms.select(sql)),
    ),
    findPlatform: (projectId: string, id: string): Query =>
      sql.compile(knex(platforms.name).where({ project_id: projectId, id }).select(platforms.select(sql))),
    /** Keeps others from changing how much a project has, until the unit ends. */
    hold: (id: string): Query => sql.compile(knex(projects.name).where({ id }).forUpdate().select('id')),
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
    anyPlatform: (hostnames: readonly string[]): Query =>
      sql.compile(knex(platforms.name).whereIn('hostname', hostnames).limit(1).select('id')),

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

    /** Projects whose data key opens values of the first version. */
    unboundKeys: (): Query =>
      sql.compile(knex(projects.name).where('data_key', 'like', `${unboundPrefix}%`).select(projects.select(sql))),
    /** Sealed values of the first version, after a row in the order of the primary key. */
    unbound: ({ table, column, key, order }: SealedColumn, after: readonly Value[] | null, limit: number): Query => {
      const rows = knex(table)
        .where(column, 'like', `${unboundPrefix}%`)
        .limit(limit)
        .orderBy([...order]);
      if (after !== null) rows.whereRaw(`(${order.join(', ')}) > (${order.map(() => '?').join(', ')})`, [...after]);
      return sql.compile(rows.select([...new Set(['project_id', key, ...order]), `${column} as sealed`]));
    },
    /** Puts a value in the place of another of the same row; changes nothing where that has changed meanwhile. */
    rebind: (
      { table, column, key }: SealedColumn,
      { projectId, row, before, after }: { projectId: string; row: string; before: string; after: string },
    ): Query =>
      sql.compile(
        knex(table)
          .where({ project_id: projectId, [key]: row, [column]: before })
          .update({ [column]: after }),
      ),
    // Every start asks these two; written out, they do not wait until knex is loaded.
    fact: (name: string): Query => sql.text('select value from installation where name = ?', [name]),
    insertFact: (name: string, value: string): Query =>
      sql.text('insert into installation (name, value) values (?, ?) on conflict (name) do nothing', [name, value]),
  };
}

/** The store of projects, platforms and server keys. */
export type ProjectStore = ReturnType<typeof createProjectStore>;
