import { printJson } from '#src/platform/text/json.js';
import { type ApplianceCall, projectCommand } from '../line/command.js';
import { usageError } from '../terminal/exit.js';
import { exportedMembers, userCsvHeader, userCsvLine } from '../user-records/index.js';
import { type ExportedText, exportArgument, exportRecords } from './export-records.js';

const formats = ['svc', 'csv'] as const;

/** `svc user export` */
export const userExport = projectCommand({
  path: 'user export',
  summary:
    'Writes all users of a project to a file that only its owner can read, or to stdout, as one JSON object per line or CSV. Includes password hashes and secrets of authenticator apps, so that svc user import restores the users elsewhere',
  arguments: [exportArgument],
  options: [
    { flag: '--format', value: 'FORMAT', summary: 'svc (the default) or csv', choices: formats },
    { flag: '--without-secrets', summary: 'leave out password hashes and secrets of authenticator apps' },
  ],
  examples: [
    'svc user export users.ndjson --project shop',
    'svc user export --project shop --format csv --without-secrets > users.csv',
  ],
  run: async (call) => {
    const { args } = call;
    const file = args.optionalArgument('FILE') ?? '-';
    const withSecrets = !args.isSet('--without-secrets');
    if (file === '-' && withSecrets && process.stdout.isTTY)
      throw usageError(
        'The export contains password hashes, which would be shown on the terminal.',
        'name a file, or leave them out with --without-secrets',
      );
    const users = call.features.userTransfer.exported(await call.findProject());
    const texts = exportedTexts(users, args.text('--format') === 'csv', withSecrets);
    const result = await exportRecords(call, file, 'user', texts);
    const next = 'keep the file as safe as the database: it has the password hashes';
    return result && { ...result, ...(withSecrets ? { next } : {}) };
  },
});

/** Formats pages of users as text for the file. */
async function* exportedTexts(
  pages: ReturnType<ApplianceCall['features']['userTransfer']['exported']>,
  isCsv: boolean,
  withSecrets: boolean,
): AsyncGenerator<ExportedText, void, undefined> {
  if (isCsv) yield { text: userCsvHeader(withSecrets), count: 0 };
  for await (const page of pages) {
    const lines = page
      .map((one) => exportedMembers(one, withSecrets))
      .map((one) => (isCsv ? userCsvLine(one) : `${printJson(one)}\n`));
    yield { text: lines.join(''), count: page.length };
  }
}
