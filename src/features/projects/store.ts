import type { ProjectSettings } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { json, nullable, table, text } from '#src/platform/db/table.js';

/** A tenant. Settings hold only what differs from the defaults. */
export const projects = table('projects', {
  id: text,
  name: text,
  settings: json<Partial<ProjectSettings>>(),
  /** The project's data key, wrapped by the master key. */
  dataKey: text,
  createdAt: text,
  updatedAt: text,
});

/** A web origin of a project. */
export const platforms = table('platforms', {
  id: text,
  projectId: text,
  name: text,
  hostname: text,
  createdAt: text,
  updatedAt: text,
});

/** A server key; of the secret only its digest. */
export const apiKeys = table('api_keys', {
  id: text,
  projectId: text,
  name: text,
  scopes: json<readonly string[]>(),
  secretDigest: text,
  expire: nullable(text),
  accessedAt: nullable(text),
  createdAt: text,
  updatedAt: text,
});

type ProjectRow = Parameters<typeof projects.encode>[0];
type PlatformRow = Parameters<typeof platforms.encode>[0];
type KeyRow = Parameters<typeof apiKeys.encode>[0];

/** SQL over projects, platforms and server keys. */
export function createProjectStore(sql: Sql) {
  const { knex } = sql;
  return {
    find: sql.prepare<{ id: string }>((k, p) => k(projects.name).where('id', p.id).select(projects.select(sql))),
    list: (): Query => sql.compile(knex(projects.name).orderBy(['created_at', 'id']).select(projects.select(sql))),
    insert: (row: ProjectRow): Query =>
      sql.compile(knex(projects.name).insert(projects.encode(row)).onConflict(['id']).ignore().returning('id')),
    update: (id: string, change: Partial<ProjectRow>): Query =>
      sql.compile(knex(projects.name).where({ id }).update(projects.encodeSome(change))),
    remove: (id: string): Query => sql.compile(knex(projects.name).where({ id }).delete()),

    platforms: sql.prepare<{ projectId: string }>((k, p) =>
      k(platforms.name).where('project_id', p.projectId).orderBy(['created_at', 'id']).select(platforms.select(sql)),
    ),
    findPlatform: (projectId: string, id: string): Query =>
      sql.compile(knex(platforms.name).where({ project_id: projectId, id }).select(platforms.select(sql))),
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
    insertKey: (row: KeyRow): Query => sql.compile(knex(apiKeys.name).insert(apiKeys.encode(row))),
    touchKey: (id: string, accessedAt: Instant): Query =>
      sql.compile(knex(apiKeys.name).where({ id }).update({ accessed_at: accessedAt })),
    removeKey: (id: string): Query => sql.compile(knex(apiKeys.name).where({ id }).delete()),

    // Every start asks these two; written out, they do not wait until knex is loaded.
    fact: (name: string): Query => sql.text('select value from installation where name = ?', [name]),
    insertFact: (name: string, value: string): Query =>
      sql.text('insert into installation (name, value) values (?, ?) on conflict (name) do nothing', [name, value]),
  };
}

/** The store of projects, platforms and server keys. */
export type ProjectStore = ReturnType<typeof createProjectStore>;
