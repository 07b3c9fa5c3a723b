import { count } from '../terminal/count.js';
import { usageError } from '../terminal/exit.js';
import type { ApplianceCall, Command } from './command.js';

/** Sets `--project` of a command that needs one: to `SVC_PROJECT`, or to the only project. Exit 2 if there are several or none. */
export async function assumeProject(command: Command, call: ApplianceCall): Promise<void> {
  const { args, loaded } = call;
  const option = (command.options ?? []).find(({ flag, assumed }) => assumed && args.text(flag) === undefined);
  if (option === undefined) return;
  args.assume(option.flag, loaded.config.project ?? (await onlyProject(option.flag, call)));
}

async function onlyProject(flag: string, { runtime, features }: ApplianceCall): Promise<string> {
  const [project, ...others] = await features.projects.list(runtime.db);
  if (project === undefined)
    throw usageError(`The flag ${flag} is required. There is no project yet.`, 'svc project create NAME');
  if (others.length === 0) return project.id;
  throw usageError(
    `The flag ${flag} is required: this installation has ${count(others.length + 1, 'project')}.`,
    `add -p ID, or choose a default with svc config set SVC_PROJECT ${project.id}; svc project list shows them`,
  );
}
