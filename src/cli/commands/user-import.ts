import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { uniqueId } from '#src/contract/shapes.js';
import { visible } from '#src/contract/visible.js';
import type { ImportedUser } from '#src/features/index.js';
import { garbageCollector } from '../import-sources/garbage-collector.js';
import { type CommandResult, type ParsedArgs, projectCommand } from '../line/command.js';
import { readSecretFile } from '../line/input.js';
import { count } from '../terminal/count.js';
import { exitCodes, usageError } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { createProgress } from '../terminal/progress.js';
import { type FirebaseParameters, readUsers, type UserRecordOfFile, userFormats } from '../user-records/index.js';
import { importSource, refusalReport } from './import-source.js';

/** Most users of a unit of work. */
const usersOfUnit = 100;
/** Most unknown columns that the result names. */
const ignoredColumns = 20;
/** Users after which garbage is collected. */
const usersOfCollection = 2000;

const noCounts = { read: 0, created: 0, updated: 0, skipped: 0, failed: 0 };

/** `svc user import` */
export const userImport = projectCommand({
  path: 'user import',
  summary:
    'Creates users from an export of svc, Appwrite, Firebase, Supabase, PocketBase, Auth0 or Keycloak, with ids and password hashes. Reports users that it cannot create, and creates the others',
  arguments: [{ name: 'FILE', summary: 'the file; - for stdin' }],
  options: [
    {
      flag: '--format',
      value: 'FORMAT',
      summary: 'origin of the file (default: found by its members); csv has the members of svc as columns',
      choices: userFormats,
    },
    {
      flag: '--hash-config',
      value: 'FILE',
      summary: 'file with the hash parameters of the Firebase project, as its console shows them',
    },
    {
      flag: '--dry-run',
      summary: 'check the file and change nothing; exit code 5 if users would be created or changed',
    },
    { flag: '--resume', summary: 'skip users that exist already, after an interrupted import' },
    { flag: '--update', summary: 'change users that exist already to what the file says' },
    { flag: '--report', value: 'FILE', summary: 'write the refused users there, as JSON (default: to stderr)' },
  ],
  examples: [
    'svc user import users.ndjson --project shop --dry-run --resume',
    'svc user import users.ndjson --project shop --resume --json',
  ],
  run: async (call): Promise<CommandResult> => {
    const { args, features, output } = call;
    const file = args.argument('FILE');
    const project = await call.findProject();
    const [dryRun, resume, update] = [args.isSet('--dry-run'), args.isSet('--resume'), args.isSet('--update')];
    if (resume && update) throw usageError('--resume and --update exclude each other.', 'give one of them');
    const format = userFormats.find((one) => one === args.text('--format'));
    const firebase = firebaseParameters(args);
    const ending = new AbortController();
    const [chunks, size] = importSource(file, ending.signal);
    const { records, ignored } = await readUsers(chunks, format, firebase);
    const progress = createProgress(output);
    const report = await refusalReport(call, progress, file);
    endAtSignal(() => ending.abort());
    const counts = { ...noCounts };
    const refuse = async (line: number, user: ImportedUser | undefined, type: string, message: string) => {
      counts.failed += 1;
      await report.add({ line, ...(user === undefined || user.id === uniqueId ? {} : { id: user.id }), type, message });
    };
    let done = 0;
    const collect = garbageCollector();
    const flush = async (waiting: readonly UserRecordOfFile[]) => {
      const given = waiting.flatMap(({ user }) => user ?? []);
      const by = call.auditContext(project.id);
      const outcomes =
        given.length === 0
          ? []
          : await features.userTransfer.importSome(by, project, given, { resume, update, selfMade: update, dryRun });
      for (const { line, bytes, user, problem } of waiting) {
        done += bytes;
        counts.read += 1;
        const outcome = user && outcomes.shift();
        if (outcome === undefined) await refuse(line, undefined, 'user_invalid', problem ?? '');
        else if (outcome instanceof Failure) await refuse(line, user, outcome.type, outcome.message);
        else counts[outcome] += 1;
      }
      if (counts.read % usersOfCollection < waiting.length) collect();
      progress.show(
        `${count(counts.read, 'user')}, ${counts.failed} refused`,
        size === undefined ? undefined : done / size,
      );
    };
    try {
      const waiting: UserRecordOfFile[] = [];
      for await (const record of records) {
        if (ending.signal.aborted) break;
        waiting.push(record);
        if (waiting.length >= usersOfUnit) await flush(waiting.splice(0));
      }
      if (!ending.signal.aborted) await flush(waiting);
    } finally {
      progress.clear();
      await report.end();
    }
    return resultOf(counts, ignored, { dryRun, isStopped: ending.signal.aborted });
  },
});

function resultOf(
  counts: Readonly<typeof noCounts>,
  unread: readonly string[],
  { dryRun, isStopped }: { dryRun: boolean; isStopped: boolean },
): CommandResult {
  const { created, updated, skipped, failed } = counts;
  const changed = updated === 0 ? '' : ` ${updated} updated,`;
  const ignored = unread.slice(0, ignoredColumns);
  const left = ignored.length === 0 ? '' : ` Columns that are not imported: ${ignored.map(visible).join(', ')}.`;
  const value = ignored.length === 0 ? counts : { ...counts, ignored };
  const text = `${count(created, 'user')} ${dryRun ? 'would be created' : 'created'},${changed} ${skipped} skipped, ${failed} refused.${left}`;
  if (isStopped)
    return {
      value: { ...value, stopped: true },
      text: `Stopped. ${text}`,
      exitCode: Number(process.exitCode),
      next: 'run the command again with --resume to go on',
    };
  const changes = dryRun && created + updated > 0 ? exitCodes.conflict : exitCodes.ok;
  return { value, text, exitCode: failed > 0 ? exitCodes.failed : changes };
}

const parametersShape = z.object({
  signerKey: z.string().min(1),
  saltSeparator: z.string(),
  rounds: z.literal('8'),
  memory: z.literal('14'),
});

/** Reads the block `hash_config` of the Firebase console, or the same members as JSON. */
function firebaseParameters(args: ParsedArgs): FirebaseParameters | undefined {
  const file = args.text('--hash-config');
  if (file === undefined) return undefined;
  const text = readSecretFile(file, '--hash-config');
  const member = (name: string) => new RegExp(`"?${name}"?\\s*:\\s*"?([\\w+/=-]+)`).exec(text)?.[1];
  const parsed = parametersShape.safeParse({
    signerKey: member('base64_signer_key'),
    saltSeparator: member('base64_salt_separator'),
    rounds: member('rounds'),
    memory: member('mem_cost'),
  });
  if (parsed.success) return { signerKey: parsed.data.signerKey, saltSeparator: parsed.data.saltSeparator };
  throw usageError(
    `--hash-config ${file} has no parameters that are supported.`,
    'write base64_signer_key, base64_salt_separator, rounds: 8 and mem_cost: 14 into it, from Authentication, Users, Password hash parameters',
  );
}
