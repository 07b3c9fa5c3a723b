// Collections with many documents, filled by SQL in a second.
import type { Row } from '#src/platform/db/table.js';

/** What a value of the document number `i` is, as SQL, by the column of the attribute. */
type Values = Readonly<Record<string, string>>;

/** Runs SQL on the database of a test. */
type RunSql = (text: string) => Promise<readonly Row[] | readonly Record<string, unknown>[]>;

/**
 * Copies the one document of a collection many times. Ids are `i1`, `i2` …; attributes have the given values, and all else is that of the document,
 * so that what is printed is not true.
 */
export async function fill(
  sql: RunSql,
  dialect: 'sqlite' | 'postgres',
  collectionId: string,
  count: number,
  values: Values,
): Promise<void> {
  const [found] = await sql(`select number from collections where id = '${collectionId}'`);
  const table = `d_${found?.number}`;
  const rows = await sql(
    dialect === 'sqlite'
      ? `select name from pragma_table_info('${table}')`
      : `select column_name as name from information_schema.columns where table_name = '${table}'`,
  );
  const names = rows.map(({ name }) => String(name)).filter((name) => name !== 'seq');
  const given: Values = { id: "'i' || i", ...values };
  const list = names.map((name) => given[name] ?? `model.${name}`).join(', ');
  const numbers =
    dialect === 'sqlite'
      ? `(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`
      : `generate_series(1, ${count}) as n (i)`;
  await sql(`insert into ${table} (${names.join(', ')}) select ${list} from ${table} as model cross join ${numbers}`);
  await sql(`analyze ${table}`);
}
