import type { Sql } from '#src/platform/db/query.js';
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
  return {
    find: ({ projectId }: { projectId: string }) =>
      sql`select ${projectLogos.row} from project_logos where project_id = ${projectId}`,
    digest: ({ projectId }: { projectId: string }) =>
      sql`select digest from project_logos where project_id = ${projectId}`,
    put: (row: LogoRow) => {
      const { createdAt: _, ...change } = row;
      return sql`${projectLogos.insert(row)} on conflict (project_id) do update set ${projectLogos.set(change)}`;
    },
    remove: (projectId: string) => sql`delete from project_logos where project_id = ${projectId}`,
  };
}
