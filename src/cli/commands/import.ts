import { z } from 'zod';
import { openAppwrite } from '../import-sources/appwrite/index.js';
import { command } from '../line/command.js';
import { readSecretFile, valid } from '../line/input.js';
import { importPocketBase } from './import-pocketbase.js';
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
  needs: 'appliance',
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

/** `svc import …` */
export const importCommands = [appwrite, importPocketBase, importSupabase];
