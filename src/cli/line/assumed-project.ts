import type { Features } from '#src/features/index.js';
import type { Config } from '#src/platform/config/schema.js';
import type { Runtime } from '#src/platform/index.js';
import { count } from '../terminal/count.js';
import { usageError } from '../terminal/exit.js';
import type { Command, ParsedArgs } from './command.js';

/** Where to find the project of a command that does not name one. */
interface Sources {
  readonly config: Config;
  readonly runtime: Runtime;
  readonly features: Features;
}

/** Sets `--project` of a command that needs one: to `SVC_PROJECT`, or to the only project. Exit 2 if there are several or none. */
export async function assumeProject(command: Command, args: ParsedArgs, sources: Sources): Promise<void> {
  const option = (command.options ?? []).find(({ flag, assumed }) => assumed && args.text(flag) === undefined);
  if (option === undefined) return;
  args.assume(option.flag, sources.config.project ?? (await onlyProject(option.flag, sources)));
}

async function onlyProject(flag: string, { runtime, features }: Sources): Promise<string> {
  const [project, ...others] = await features.projects.list(runtime.db);
  if (project === undefined)
    throw usageError(`The flag ${flag} is required. There is no project yet.`, 'svc project create NAME');
  if (others.length === 0) return project.id;
  throw usageError(
    `The flag ${flag} is required: this installation has ${count(others.length + 1, 'project')}.`,
    `add -p ID, or choose a default with svc config set SVC_PROJECT ${project.id}; svc project list shows them`,
  );
}
