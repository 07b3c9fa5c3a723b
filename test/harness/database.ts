// What a request left in the database besides its answer.
import { subscribableEvents } from '#src/contract/events.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Query } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';
import type { Runtime } from '#src/platform/index.js';
import type { TestAppliance } from './appliance.js';
import { front } from './front.js';
import { statement } from './platform.js';

/**
 * The names of what was recorded, in alphabetical order: rows of one unit share their instant. Events that only the feed carries are left
 * out, as each change of an account makes one; test/feed looks at them.
 */
interface Recorded {
  readonly audit: string[];
  readonly events: string[];
  readonly messages: string[];
}

/** Every row of a table of the test's database, or those of one project. */
export async function rowsOf({ appliance }: TestAppliance, table: string, projectId?: string): Promise<Row[]> {
  const { db, sql } = appliance.runtime;
  return db.all(sql`select * from ${raw(table)} ${projectId !== undefined && sql`where project_id = ${projectId}`}`);
}

/** The statement that inserts rows as they are stored. */
export function insertion({ sql }: Pick<Runtime, 'sql'>, table: string, rows: readonly Partial<Row>[]): Query {
  const columns = Object.keys(rows[0] ?? {});
  const places = `(${columns.map(() => '?').join(', ')})`;
  return sql.text(
    `insert into ${table} (${columns.join(', ')}) values ${rows.map(() => places).join(', ')}`,
    rows.flatMap((row) => columns.map((column) => row[column] ?? null)),
  );
}

/** Runs SQL as somebody with a shell on the database server would, who tries again where the service was in the way. */
export async function runSql(
  { appliance }: TestAppliance,
  text: string,
  values: (string | number | null)[] = [],
): Promise<Row[]> {
  const { db, driver } = appliance.runtime;
  const query = statement(appliance.runtime, text, values);
  // Behind a pooler, the product's reads are transactions that cannot write.
  const run = () =>
    front?.startsWith('pgbouncer')
      ? driver.transact(
          async (connection) => ({ value: await connection.all(query), inserts: [] }),
          performance.now() + 10_000,
        )
      : db.all(query);
  for (let tries = 1; ; tries++)
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof DatabaseError && error.kind === 'conflict') || tries === 5) throw error;
    }
}

/** Does something and tells what it left behind in the audit log, among the events and among the messages of the project. */
export async function recordedBy<T>(
  target: TestAppliance,
  act: () => Promise<T>,
): Promise<{ readonly value: T; readonly recorded: Recorded }> {
  const before = await everything(target);
  const value = await act();
  const now = await everything(target);
  const added = (table: keyof Recorded) =>
    now[table].filter(({ id }) => !before[table].some((row) => row.id === id)).map(({ name }) => name);
  return {
    value,
    recorded: { audit: added('audit').sort(), events: added('events').sort(), messages: added('messages').sort() },
  };
}

const forWebhooks: ReadonlySet<string> = new Set(subscribableEvents);

/** Fails the comparison of `recordedBy` in one line: nothing was recorded at all. */
export const nothing: Recorded = { audit: [], events: [], messages: [] };

async function everything(target: TestAppliance) {
  const named = async (table: string, column: string) =>
    (await rowsOf(target, table, target.project.id)).map((row) => ({ id: row.id, name: String(row[column]) }));
  return {
    audit: await named('audit_entries', 'action'),
    events: (await named('events', 'type')).filter(({ name }) => forWebhooks.has(name)),
    messages: await named('messages', 'template'),
  };
}
