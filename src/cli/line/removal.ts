import { Failure } from '#src/contract/errors.js';
import { createSteps, type StepReport } from '#src/platform/db/steps.js';
import { createProgress } from '../terminal/progress.js';
import type { ApplianceCall } from './command.js';

/** Runs a removal and shows on a terminal how many rows it has removed. */
export async function withRemovalProgress<T>(
  { output }: Pick<ApplianceCall, 'output'>,
  body: (report: StepReport) => Promise<T>,
): Promise<T> {
  const progress = createProgress(output);
  try {
    return await body((kind, removed) => progress.show(`${kind.replaceAll('_', ' ')}: ${removed} removed`));
  } finally {
    progress.clear();
  }
}

/** Deletes collections, then removes the rows of large ones. Does that too if the collections are gone: an earlier call may have been killed. */
export async function withRemovedTables(call: ApplianceCall, body: () => Promise<void>): Promise<void> {
  const { features, auditContext, args } = call;
  const removeTables = () =>
    withRemovalProgress(call, (report) =>
      features.databases.removeTables(auditContext(args.required('--project')), createSteps({ report })),
    );
  try {
    await body();
  } catch (error) {
    if (error instanceof Failure && error.status === 404) await removeTables();
    throw error;
  }
  await removeTables();
}
