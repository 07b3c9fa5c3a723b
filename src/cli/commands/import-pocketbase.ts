import { lazy } from '#src/platform/runtime/lazy.js';
import { command } from '../line/command.js';
import { importOptions, runImport } from './import-run.js';

/** Loaded by this command only. */
const source = lazy(() => import('../import-sources/pocketbase/index.js'));

/** `svc import pocketbase` */
export const importPocketBase = command({
  path: 'import pocketbase',
  summary:
    'Imports users, collections, records and files of PocketBase into a project. PocketBase may keep running; nothing is written into its directory. Run it again to import what has changed since',
  arguments: [{ name: 'DIRECTORY', summary: 'the directory pb_data, or a copy of it' }],
  options: [
    ...importOptions,
    { flag: '--database', value: 'ID', summary: 'id of the database for the collections (default: pocketbase)' },
  ],
  examples: [
    'svc import pocketbase pb_data --project shop --dry-run',
    'svc import pocketbase pb_data --project shop --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { openPocketBase } = await source.get();
    const databaseId = call.args.text('--database') ?? 'pocketbase';
    return runImport(call, '', () =>
      openPocketBase(call.args.argument('DIRECTORY'), { projectId: call.args.required('--project'), databaseId }),
    );
  },
});
