import type { LoadedConfig } from '#src/platform/config/load.js';
import { openReader } from '#src/platform/db/index.js';

/** Maximum number of ids offered. */
export const offered = 1000;

/** A table with ids. `of` lists the columns that the flags of the command filter by. */
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

/** Tables by noun. They duplicate tables of the features' stores, because loading the features is too slow for completion. */
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

/** A noun with ids in the database. */
export type Listed = keyof typeof places;

/** All nouns with ids in the database. */
export const listed = Object.keys(places) as Listed[];

/** Lists the ids of a noun in order. `within` contains the ids of the parent project and database. Throws DatabaseError. */
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

/** The project of an installation with one project; undefined for any other number. Throws DatabaseError. */
export async function onlyProject(loaded: LoadedConfig): Promise<string | undefined> {
  const ids = await idsOf(loaded, 'project', []);
  return ids.length === 1 ? ids[0] : undefined;
}
