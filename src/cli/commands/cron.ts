import type { JobState } from '#src/features/index.js';
import { runCommand } from '../installation/run-command.js';
import { type ApplianceCall, type CommandCall, command } from '../line/command.js';
import { type CommandError, conflictError, failedError, notFoundError } from '../terminal/exit.js';
import { columns } from '../terminal/table.js';

const list = command({
  path: 'cron list',
  summary: 'Lists the jobs with their last and next run, their last error, and the process that runs them',
  examples: ['svc cron list', 'svc cron list --json'],
  run: async ({ features }) => {
    const jobs = await features.jobs.list();
    return {
      value: { jobs },
      text: columns(
        ['JOB', 'SCHEDULE (UTC)', 'LAST RUN', 'NEXT RUN', 'RUN BY', 'LAST ERROR'],
        jobs.map((job) => [job.name, job.schedule, job.lastRun ?? '-', job.nextRun, runBy(job), job.lastError ?? '-']),
        { whole: ['JOB'], optional: ['RUN BY'] },
      ),
    };
  },
});

const run = command({
  path: 'cron run',
  summary: 'Runs a job now. Exit code 5 if another process is running it, 1 if it fails',
  arguments: [{ name: 'JOB', summary: 'name of the job; svc cron list', values: 'cron' }],
  examples: ['svc cron run sessions.expire', 'svc cron run limits.prune --json'],
  run: async (call) => {
    const { jobs } = call.features;
    const name = call.args.argument('JOB');
    if (name === call.features.backups.job && !jobs.names.includes(name))
      throw notFoundError(
        'job_not_found',
        `The job ${name} makes scheduled backups, and SVC_BACKUP_CRON is not set.`,
        "svc backup create makes a backup now; svc config set SVC_BACKUP_CRON '0 3 * * *' schedules them",
      );
    if (!jobs.names.includes(name)) {
      const message = `There is no job ${name}. The jobs are: ${jobs.names.join(', ')}.`;
      throw notFoundError('job_not_found', message, 'svc cron list');
    }
    const done = await jobs.run(name);
    if (done === undefined) throw await heldError(call, name);
    const { outcome, error, durationMs } = done;
    if (outcome === 'ok')
      return { value: { job: name, outcome, durationMs }, text: `${name} is done: ${durationMs} ms` };
    const reason = error ?? 'It ran longer than its lease, and another process took it over.';
    throw failedError('job_failed', `${name} failed. ${reason}`, 'svc cron list');
  },
});

/** The names of all jobs. */
export async function jobsOf(call: CommandCall): Promise<readonly string[]> {
  const names: string[] = [];
  const collect = async ({ features }: ApplianceCall): Promise<undefined> => {
    names.push(...features.jobs.names);
  };
  await runCommand({ ...list, run: collect }, call);
  return names;
}

/** `svc cron …` */
export const cronCommands = [list, run];

function runBy({ lease, owner }: JobState): string {
  return lease === 'process' ? 'every process' : (owner ?? '-');
}

async function heldError({ features }: ApplianceCall, name: string): Promise<CommandError> {
  const job = (await features.jobs.list()).find((one) => one.name === name);
  const holder = job?.owner ? ` (${job.owner}, at least until ${job.leaseUntil})` : '';
  const message = `Another process is running ${name}${holder}.`;
  return conflictError('job_running', message, 'wait for it; svc cron list shows running jobs');
}
