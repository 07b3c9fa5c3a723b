import type { DialectName } from './dialect-words.js';
import type { Query } from './query.js';

/** What a step of the schema costs on this database. Rows and seconds are estimates. */
export interface StepPlan {
  readonly step: string;
  readonly sql: readonly string[];
  /** Locks of existing tables, held until the end of the migration. */
  readonly locks: readonly string[];
  readonly rows: number;
  readonly seconds: number;
}

/** A kind of statement: the table it concerns, the lock that Postgres takes, and the rows that it handles in a second. */
interface Kind {
  readonly form: RegExp;
  readonly lock: string;
  readonly rowsPerSecond?: number;
}

const name = '["`]?(\\w+)["`]?';
/** The first that matches counts. */
const kinds: readonly Kind[] = [
  kind(`^create index .* on ${name} using gin`, 'SHARE', 10_000),
  kind(`^create (?:unique )?index .* on ${name}`, 'SHARE', 500_000),
  kind(`^alter table ${name} add constraint .*foreign key`, 'SHARE ROW EXCLUSIVE', 1_000_000),
  kind(`^alter table ${name} (?:add constraint|alter column .* (?:type|set not null))`, 'ACCESS EXCLUSIVE', 200_000),
  kind(`^alter table ${name} (?:re)?set \\(`, 'SHARE UPDATE EXCLUSIVE'),
  kind(`^alter table ${name}`, 'ACCESS EXCLUSIVE'),
  kind(`^drop table (?:if exists )?${name}`, 'ACCESS EXCLUSIVE'),
  kind(`^create trigger .* on ${name}`, 'SHARE ROW EXCLUSIVE'),
  kind(`^drop trigger .* on ${name}`, 'ACCESS EXCLUSIVE'),
  kind(`^insert into \\w+ .*from ${name}`, 'ACCESS SHARE', 100_000),
  kind(`^update ${name}`, 'ROW EXCLUSIVE', 50_000),
  kind(`^delete from ${name}`, 'ROW EXCLUSIVE', 50_000),
];

function kind(form: string, lock: string, rowsPerSecond?: number): Kind {
  return { form: new RegExp(form, 'is'), lock, ...(rowsPerSecond === undefined ? {} : { rowsPerSecond }) };
}

/** Describes pending steps. `rowsOf` has the existing tables with their numbers of rows. SQLite has one lock only, which all writers wait for. */
export function stepPlansOf(
  steps: readonly { readonly name: string; readonly statements: readonly Query[] }[],
  dialect: DialectName,
  rowsOf: ReadonlyMap<string, number>,
): StepPlan[] {
  return steps.map(({ name: step, statements }) => {
    const found = statements.flatMap(({ sql }) => {
      const match = kinds.map((one) => ({ ...one, table: one.form.exec(sql)?.[1] })).find(({ table }) => table);
      const rows = rowsOf.get(match?.table ?? '');
      return match === undefined || rows === undefined ? [] : [{ ...match, rows }];
    });
    const handled = found.filter(({ rowsPerSecond }) => rowsPerSecond !== undefined);
    const seconds = handled.reduce((sum, { rows, rowsPerSecond = 1 }) => sum + rows / rowsPerSecond, 0);
    const locks =
      dialect === 'sqlite' ? ['writers of the database'] : found.map(({ table, lock }) => `${table} ${lock}`);
    return {
      step,
      sql: statements.map(({ sql }) => sql),
      locks: [...new Set(locks)],
      rows: handled.reduce((sum, { rows }) => sum + rows, 0),
      seconds: Math.ceil(seconds * 10) / 10,
    };
  });
}
