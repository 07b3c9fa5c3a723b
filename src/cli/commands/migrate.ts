import type { StepPlan } from '#src/platform/db/migration-plan.js';
import { type Migrator, type SchemaStatus, unfinishedCopy } from '#src/platform/db/migrations.js';
import { databaseName } from '../installation/database-url.js';
import { requireKnownSchema } from '../installation/run-command.js';
import { type CommandResult, command } from '../line/command.js';
import { requireNoServer } from '../serving/running-servers.js';
import { exitCodes, shellWord, usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { columns } from '../terminal/table.js';
import { backupBeforeSteps } from './backup-before.js';

const up = command({
  path: 'migrate up',
  summary: 'Migrates the database schema to this version (up is the default)',
  options: [
    { flag: '--to', value: 'STEP', summary: 'stop after this step, such as 1 or 0001_spine' },
    {
      flag: '--plan',
      summary:
        'print the SQL, the locks and the estimated rows and seconds of each step, and change nothing; exit code 5 if a step is pending',
    },
    { flag: '--no-backup', summary: 'make no backup first' },
  ],
  examples: ['svc migrate', 'svc migrate up --plan --json'],
  needs: 'database',
  isDefault: true,
  creates: (args) => !args.isSet('--plan'),
  run: async ({ args, output, runtime }) => {
    const { migrator } = runtime;
    const to = stepName(migrator, args.text('--to'));
    const before = await migrator.status();
    requireKnownSchema(before);
    if (args.isSet('--plan')) return planned(migrator, before, to);
    const backup = args.isSet('--no-backup') ? undefined : await backupBeforeSteps(runtime, output, to);
    if (backup !== undefined) output.note(`Backup: ${backup}. To go back: svc backup restore ${shellWord(backup)}`);
    const changed = await migrator.up(to);
    const { applied, pending } = await migrator.status();
    const text = changed.length === 0 ? 'There is nothing to apply.' : `Applied: ${changed.join(', ')}`;
    return { value: { pending, applied, changed, ...(backup === undefined ? {} : { backup }) }, text };
  },
});

const status = command({
  path: 'migrate status',
  summary: 'Shows which migration steps are applied, pending or unknown',
  examples: ['svc migrate status', 'svc migrate status --json'],
  needs: 'database',
  run: async ({ runtime: { migrator } }): Promise<CommandResult> => {
    const { applied, pending, unknown } = await migrator.status();
    const rows = [
      ...applied.map((name) => [name, unknown.includes(name) ? unknownState(name) : 'applied']),
      ...pending.map((name) => [name, 'pending']),
    ];
    return {
      value: { pending, applied, ...(unknown.length === 0 ? {} : { unknown }) },
      text: columns(['STEP', 'STATE'], rows),
      ...(pending.length === 0 ? {} : { next: 'svc migrate' }),
    };
  },
});

const down = command({
  path: 'migrate down',
  summary: 'Reverts the last migration step and deletes the data it holds',
  options: [
    { flag: '--confirm', value: 'NAME', summary: 'name of the database, to confirm without a prompt' },
    { flag: '--plan', summary: 'print the SQL and change nothing' },
  ],
  examples: ['svc migrate down --plan', 'svc migrate down --plan --json'],
  needs: 'database',
  run: async ({ args, prompts, loaded, runtime }): Promise<CommandResult> => {
    const { migrator } = runtime;
    const before = await migrator.status();
    requireKnownSchema(before);
    const last = migrator.migrations.find(({ name }) => name === before.applied.at(-1));
    if (args.isSet('--plan')) {
      const sql = ((await migrator.planDown()) ?? []).map((statement) => statement.sql);
      return { value: { ...rest(before), sql }, text: Lines.text(sql.map((one) => `${one};`).join('\n')) };
    }
    if (last === undefined) return { value: rest(before), text: 'There is no step to revert.' };
    await requireNoServer(runtime, 'a step cannot be reverted under it.');
    const name = databaseName(loaded.config.databaseUrl.reveal());
    const question = `This reverts ${last.name} in the database ${name} and permanently deletes the data it holds. Is the server stopped?`;
    await prompts.confirmByName(question, [name], args.text('--confirm'));
    const changed = await migrator.down();
    return {
      value: { ...rest(await migrator.status()), changed: changed === undefined ? [] : [changed] },
      text: `Reverted: ${changed ?? 'nothing'}`,
      next: 'run this command once more for each further step of this version; then install the version that does not have them. svc migrate applies them again',
    };
  },
});

/** `svc migrate …` */
export const migrateCommands = [up, status, down];

async function planned(migrator: Migrator, before: SchemaStatus, to: string | undefined): Promise<CommandResult> {
  const steps = await migrator.planUp(to);
  const nothing = steps.length === 0;
  return {
    value: { ...rest(before), sql: steps.flatMap(({ sql }) => sql), steps: steps.map(({ sql: _, ...step }) => step) },
    text: nothing ? 'There is nothing to apply.' : planText(steps),
    exitCode: nothing ? exitCodes.ok : exitCodes.conflict,
  };
}

function unknownState(name: string): string {
  return name === unfinishedCopy ? 'unfinished copy of another database' : 'unknown (of a newer version)';
}

function rest({ pending, applied }: SchemaStatus) {
  return { pending, applied };
}

function planText(steps: readonly StepPlan[]): Lines {
  return Lines.text(
    steps
      .flatMap(({ step, sql, locks, rows, seconds }) => [
        `-- ${step}: about ${rows} rows, ${seconds} s`,
        `-- locks: ${locks.length === 0 ? 'none' : locks.join(', ')}`,
        ...sql.map((one) => `${one};`),
      ])
      .join('\n'),
  );
}

/** Resolves a step: `1`, `0001` and `0001_spine` are the same. */
function stepName({ migrations }: Migrator, step: string | undefined): string | undefined {
  if (step === undefined) return undefined;
  const found = migrations.find(
    ({ name }) => name === step || (/^\d+$/.test(step) && Number.parseInt(name, 10) === Number(step)),
  );
  if (found !== undefined) return found.name;
  throw usageError(
    `There is no migration step ${step}.`,
    `choose one of ${migrations.map(({ name }) => name).join(', ')}`,
  );
}
