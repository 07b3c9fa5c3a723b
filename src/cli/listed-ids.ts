import type { LoadedConfig } from '#src/platform/config/load.js';
import { openReader } from '#src/platform/db/index.js';

/** How many ids are offered at most. */
const offered = 1000;

/** A table of things with ids; the columns in `of` are told by the flags of the same place. */
interface Place {
  readonly table: string;
  readonly column: string;
  readonly of: readonly string[];
  readonly where?: string;
}

const inProject = (table: string, more: Partial<Place> = {}): Place => ({
  table,
  column: 'id',
  of: ['project_id'],
  ...more,
});

/** By noun. The stores of the features have the same tables, but loading the features takes longer than a person waits for a completion. */
const places = {
  project: { table: 'projects', column: 'id', of: [] },
  platform: inProject('platforms'),
  apikey: inProject('api_keys'),
  provider: inProject('providers', { column: 'key' }),
  user: inProject('users'),
  team: inProject('teams'),
  database: inProject('databases'),
  collection: inProject('collections', { of: ['project_id', 'database_id'] }),
  bucket: inProject('buckets', { where: 'deleted_at is null' }),
  webhook: inProject('webhooks'),
} satisfies Readonly<Record<string, Place>>;

/** What has ids in the database. */
export type Listed = keyof typeof places;

/** Everything that has ids in the database. */
export const listed = Object.keys(places) as Listed[];

/** The ids of a noun, in their order; what lies in a project or a database is named by its id. Throws DatabaseError. */
export async function idsOf({ config }: LoadedConfig, noun: Listed, within: readonly string[]): Promise<string[]> {
  const { table, column, of, where }: Place = places[noun];
  const conditions = [...of.map((name) => `${name} = ?`), ...(where === undefined ? [] : [where])];
  const filter = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
  const database = await openReader(config);
  try {
    const text = `select ${column} as id from ${table}${filter} order by ${column} limit ${offered}`;
    return (await database.read(database.sql.text(text, within))).map(({ id }) => String(id));
  } finally {
    await database.close();
  }
}
