import type { Runtime } from '#src/platform/index.js';
import type { CommandCall } from '../line/command.js';
import { CommandError } from '../terminal/exit.js';
import { createProgress } from '../terminal/progress.js';
import { backUp } from './backup.js';

/** Backs up a database with data before pending steps up to `to`. Returns the path or URL of the backup; undefined if none is needed. */
export async function backupBeforeSteps(
  runtime: Runtime,
  output: CommandCall['output'],
  to?: string,
): Promise<string | undefined> {
  const { driver, migrator } = runtime;
  const { applied, pending } = await migrator.status();
  const isPending = pending.some((name) => to === undefined || name <= to);
  if (!isPending || applied.length === 0) return undefined;
  const projects = await driver.read({ sql: 'select id from projects limit 1', values: [] });
  if (projects.length === 0) return undefined;
  try {
    const passphrase = runtime.config.backupPassphrase?.reveal();
    return (await backUp(runtime, { passphrase, progress: createProgress(output) })).shown;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(
      error.outcome,
      'backup_failed',
      `The backup before the migration failed, so nothing was migrated. ${error.message}`,
      'correct the cause, or make a backup yourself and run svc migrate --no-backup',
    );
  }
}
