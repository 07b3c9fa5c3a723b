import { z } from 'zod';
import { lazy } from '#src/platform/runtime/lazy.js';
import { openAppwrite } from '../import-sources/appwrite/index.js';
import { command } from '../line/command.js';
import { readSecretFile, valid } from '../line/input.js';
import { importOptions, runImport } from './import-run.js';
import { importSupabase } from './import-supabase.js';

const endpoint = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://cloud.appwrite.io/v1' })
  .transform((url) => url.replace(/[?#].*$/, '').replace(/\/+$/, ''));

const appwrite = command({
  path: 'import appwrite',
  summary:
    'Imports a project of Appwrite, or of another svc, over its API: teams, users with password hashes, databases, documents with relationships, files and webhooks. Run again, it imports what has changed',
  options: [
    { flag: '--endpoint', value: 'URL', summary: 'address of its API, which ends with /v1', required: true },
    { flag: '--source-project', value: 'ID', summary: 'id of the project there', required: true },
    { flag: '--key-file', value: 'FILE', summary: 'file with a server key of that project', required: true },
    ...importOptions,
  ],
  examples: [
    'svc import appwrite --endpoint "$APPWRITE_ENDPOINT" --source-project shop --key-file appwrite.key --project shop --dry-run',
    'svc import appwrite --endpoint "$APPWRITE_ENDPOINT" --source-project shop --key-file appwrite.key --project shop --json',
  ],
  run: (call) => {
    const { args } = call;
    const url = valid(endpoint, '--endpoint', args.required('--endpoint'));
    const access = {
      endpoint: url,
      projectId: args.required('--source-project'),
      key: readSecretFile(args.required('--key-file'), '--key-file').trim(),
    };
    return runImport(call, '', (signal) => openAppwrite({ ...access, signal }));
  },
});

/** Loaded by this command only. */
const pocketBaseSource = lazy(() => import('../import-sources/pocketbase/index.js'));

const pocketbase = command({
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
  run: async (call) => {
    const { openPocketBase } = await pocketBaseSource.get();
    const databaseId = call.args.text('--database') ?? 'pocketbase';
    return runImport(call, '', () =>
      openPocketBase(call.args.argument('DIRECTORY'), { projectId: call.args.required('--project'), databaseId }),
    );
  },
});

/** `svc import …` */
export const importCommands = [appwrite, pocketbase, importSupabase];
