import type { ApplianceCall } from '../line/command.js';

/** A call that works on one project, which may not exist yet. */
export interface ProjectCall extends ApplianceCall {
  readonly projectId: string;
}

/** The call for a project that an argument or a file names instead of `--project`. */
export function callFor(call: ApplianceCall, projectId: string): ProjectCall {
  const { runtime, features } = call;
  return { ...call, projectId, findProject: () => features.projects.get(runtime.db, projectId) };
}
