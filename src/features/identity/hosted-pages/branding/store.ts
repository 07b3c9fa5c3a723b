import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, table, text, word } from '#src/platform/db/table.js';
import type { ImageType } from './image.js';

/** Logos of projects, at most one each. */
export const projectLogos = table('project_logos', {
  projectId: text,
  type: word<ImageType>(),
  /** As base64. */
  content: text,
  digest: text,
  createdAt: instant,
  updatedAt: instant,
});

type LogoRow = ReturnType<typeof projectLogos.decode>;

/** SQL over logos. */
export function createLogoStore(sql: Sql) {
  const { knex } = sql;
  const { name } = projectLogos;
  return {
    find: sql.prepare<{ projectId: string }>((k, p) =>
      k(name).where('project_id', p.projectId).select(projectLogos.select(sql)),
    ),
    digest: sql.prepare<{ projectId: string }>((k, p) => k(name).where('project_id', p.projectId).select('digest')),
    put: (row: LogoRow): Query => {
      const { createdAt: _, ...change } = row;
      return sql.compile(
        knex(name).insert(projectLogos.encode(row)).onConflict(['project_id']).merge(projectLogos.encodeSome(change)),
      );
    },
    remove: (projectId: string): Query => sql.compile(knex(name).where({ project_id: projectId }).delete()),
  };
}
