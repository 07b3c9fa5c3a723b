import { digestDatabase, type TableDigest } from '#src/features/index.js';
import { requireDatabase } from '../installation/installation.js';
import { requireCurrentSchema } from '../installation/run-command.js';
import { command } from '../line/command.js';
import { count } from '../terminal/count.js';
import { createProgress } from '../terminal/progress.js';
import { columns } from '../terminal/table.js';
import { dbCopy } from './db-copy.js';

const digest = command({
  path: 'db digest',
  summary:
    'Counts the rows of each table and computes a digest of them from one snapshot, which is the same on SQLite and Postgres',
  examples: ['svc db digest', 'svc db digest --json'],
  needs: 'database',
  run: async ({ loaded: { config }, runtime, output }) => {
    requireDatabase(config);
    requireCurrentSchema(await runtime.migrator.status());
    const progress = createProgress(output);
    const tables = await digestDatabase(runtime, (table, rows) =>
      progress.show(`${table}: ${count(rows, 'row')} so far`),
    ).finally(() => progress.clear());
    return { value: { tables }, text: digestTable(tables) };
  },
});

function digestTable(tables: readonly TableDigest[]) {
  const rows = tables.map(({ name, rows: number, digest: hex }) => [name, String(number), hex]);
  return columns(['TABLE', 'ROWS', 'DIGEST'], rows, { whole: ['TABLE'] });
}

/** `svc db …` */
export const dbCommands = [dbCopy, digest];
