import { printJson } from '#src/platform/text/json.js';
import { command, projectOption } from '../line/command.js';
import { count } from '../terminal/count.js';
import { CommandError, exitCodes, usageError } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { createProgress } from '../terminal/progress.js';
import { writeOut } from '../terminal/stream.js';
import { writtenFile } from '../terminal/written-file.js';
import { exportedMembers, userCsvHeader, userCsvLine } from '../user-records/index.js';

const formats = ['svc', 'csv'] as const;

/** `svc user export` */
export const userExport = command({
  path: 'user export',
  summary:
    'Writes all users of a project to a file that only its owner can read, or to stdout, as one JSON object per line or CSV. Includes password hashes and secrets of authenticator apps, so that svc user import restores the users elsewhere',
  arguments: [{ name: 'FILE', summary: 'the file; - for stdout (default: -)', optional: true }],
  options: [
    projectOption,
    { flag: '--format', value: 'FORMAT', summary: 'svc (the default) or csv', choices: formats },
    { flag: '--without-secrets', summary: 'leave out password hashes and secrets of authenticator apps' },
  ],
  examples: [
    'svc user export users.ndjson --project shop',
    'svc user export --project shop --format csv --without-secrets > users.csv',
  ],
  needs: 'appliance',
  run: async ({ args, features, runtime, output }) => {
    const file = args.optionalArgument('FILE') ?? '-';
    const withSecrets = !args.isSet('--without-secrets');
    if (file === '-' && withSecrets && process.stdout.isTTY)
      throw usageError(
        'The export contains password hashes, which would be shown on the terminal.',
        'name a file, or leave them out with --without-secrets',
      );
    const isCsv = args.text('--format') === 'csv';
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const ending = new AbortController();
    if (file !== '-') endAtSignal(() => ending.abort());
    const target = file === '-' ? undefined : await writtenFile(file);
    const write = target?.append ?? writeOut;
    const progress = createProgress(output);
    let users = 0;
    try {
      if (isCsv) await write(userCsvHeader(withSecrets));
      for await (const page of features.userTransfer.exported(project)) {
        if (ending.signal.aborted) throw stopped(file);
        const lines = page.map((one) => exportedMembers(one, withSecrets));
        await write(lines.map((one) => (isCsv ? userCsvLine(one) : `${printJson(one)}\n`)).join(''));
        users += page.length;
        progress.show(count(users, 'user'));
      }
      progress.clear();
      if (target === undefined) return undefined;
      await target.end();
    } catch (error) {
      progress.clear();
      target?.giveUp();
      throw error;
    }
    return {
      value: { file, users },
      text: `${count(users, 'user')} ${users === 1 ? 'is' : 'are'} in ${file}.`,
      ...(withSecrets ? { next: 'keep the file as safe as the database: it has the password hashes' } : {}),
    };
  },
});

function stopped(file: string): CommandError {
  const outcome = process.exitCode === exitCodes.terminated ? 'terminated' : 'interrupted';
  return new CommandError(outcome, 'export_stopped', `The export was stopped; ${file} is as it was.`, 'run it again');
}
