import { importAll } from '../import-sources/import.js';
import type { ImportSource } from '../import-sources/source.js';
import { type ApplianceCall, type CommandResult, type OptionSpec, projectOption } from '../line/command.js';
import { exitCodes } from '../terminal/exit.js';
import { endingSignal } from '../terminal/interrupt.js';
import { Lines } from '../terminal/lines.js';
import { createProgress } from '../terminal/progress.js';
import { columns, pairs } from '../terminal/table.js';
import { refusalReport } from './import-source.js';

/** The options of every import of a whole project. */
export const importOptions: readonly OptionSpec[] = [
  projectOption,
  { flag: '--dry-run', summary: 'compare and change nothing; exit code 5 if something would change' },
  {
    flag: '--resume',
    summary: 'leave users, memberships, documents and files that exist as they are, without a comparison',
  },
  { flag: '--report', value: 'FILE', summary: 'write the failed records there, as JSON (default: to stderr)' },
];

/** Runs an import into the project of the command. `name` is the source, if it is a file. */
export async function runImport(
  call: ApplianceCall,
  name: string,
  open: (signal: AbortSignal) => Promise<ImportSource>,
): Promise<CommandResult> {
  const { args, output } = call;
  await call.findProject();
  const [dryRun, resume] = [args.isSet('--dry-run'), args.isSet('--resume')];
  const signal = endingSignal();
  const progress = createProgress(output);
  const source = await open(signal);
  try {
    const report = await refusalReport(call, progress, name);
    try {
      const done = await importAll(call, source, { dryRun, resume, signal, progress, report: report.add });
      return resultOf(done, { dryRun, isStopped: signal.aborted });
    } finally {
      progress.clear();
      await report.end();
    }
  } finally {
    await source.close();
  }
}

function resultOf(
  { kinds, unsupported, secrets }: Awaited<ReturnType<typeof importAll>>,
  { dryRun, isStopped }: { readonly dryRun: boolean; readonly isStopped: boolean },
): CommandResult {
  const sum = (of: 'created' | 'changed' | 'failed') => kinds.reduce((total, one) => total + one[of], 0);
  const counts = kinds.map((one) =>
    [one.kind, one.read, one.created, one.changed, one.skipped, one.failed].map(String),
  );
  const heads = dryRun ? ['TO CREATE', 'TO CHANGE', 'EQUAL'] : ['CREATED', 'CHANGED', 'SKIPPED'];
  const tables = [columns(['KIND', 'READ', ...heads, 'FAILED'], counts)];
  const left = unsupported.map(({ kind, count, reason }) => [kind, String(count), reason]);
  if (left.length > 0) tables.push(columns(['NOT IMPORTED', 'COUNT', 'REASON'], left, { sentences: true }));
  if (secrets.length > 0) tables.push(pairs(secrets.map(({ kind, id, secret }) => [`${kind} ${id}`, secret] as const)));
  const value = { kinds, unsupported, secrets };
  if (isStopped)
    return {
      value: { ...value, stopped: true },
      text: Lines.parts([Lines.of(['Stopped.']), ...tables]),
      exitCode: Number(process.exitCode),
      next: 'run the command again to go on',
    };
  const changes = dryRun && sum('created') + sum('changed') > 0 ? exitCodes.conflict : exitCodes.ok;
  return {
    value,
    text: Lines.parts(tables),
    exitCode: sum('failed') > 0 ? exitCodes.failed : changes,
    ...(secrets.length === 0 ? {} : { next: 'keep the secrets; they cannot be shown again' }),
  };
}
