import { lazy } from '#src/platform/runtime/lazy.js';
import { command } from '../line/command.js';
import { commaList, readStdin } from '../line/input.js';
import { usageError } from '../terminal/exit.js';
import { importOptions, runImport } from './import-run.js';

/** Loaded by this command only. */
const source = lazy(() => import('../import-sources/supabase/index.js'));

/** `svc import supabase` */
export const importSupabase = command({
  path: 'import supabase',
  summary:
    'Imports users, tables and files of Supabase into a project, from its database or from a file of pg_dump in plain format. The database is only read. Run it again to import what has changed since',
  arguments: [
    { name: 'SOURCE', summary: 'a file of pg_dump, or postgres://USER@HOST:PORT/DATABASE; - reads the URL from stdin' },
  ],
  options: [
    ...importOptions,
    { flag: '--database', value: 'ID', summary: 'id of the database for the collections (default: supabase)' },
    { flag: '--schema', value: 'NAME', summary: 'schema of the tables (default: public)' },
    { flag: '--tables', value: 'NAMES', summary: 'names of the tables, separated by commas (default: all)' },
    {
      flag: '--storage',
      value: 'DIRECTORY',
      summary: 'directory of the storage service, or objects as BUCKET/NAME (default: import no files)',
    },
  ],
  examples: [
    'svc import supabase dump.sql --project shop --tables todos,lists,profiles --dry-run',
    'svc import supabase dump.sql --project shop --tables todos,lists,profiles --json',
  ],
  run: async (call) => {
    const { args } = call;
    const { isUrl, openSupabase } = await source.get();
    const [given, names] = [args.argument('SOURCE'), args.text('--tables')];
    const from = given === '-' ? await readStdin('-') : given;
    if (given === '-' && !isUrl(from))
      throw usageError('stdin has no URL that begins with postgres://.', 'name a dump as a file');
    return runImport(call, isUrl(from) ? '' : from, () =>
      openSupabase(from, {
        projectId: args.required('--project'),
        databaseId: args.text('--database') ?? 'supabase',
        schema: args.text('--schema') ?? 'public',
        tables: names === undefined ? undefined : commaList(names).filter((name) => name !== ''),
        storage: args.text('--storage'),
      }),
    );
  },
});
