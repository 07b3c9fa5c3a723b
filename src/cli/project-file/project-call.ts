import type { Declaration } from '#src/contract/declaration.js';
import type { HandlerResult } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { ApplianceCall } from '../line/command.js';
import { invokeInProject } from '../line/invoke-as-operator.js';

/** A call that works on one project, whose id comes from an argument or a file. */
export interface ProjectCall extends ApplianceCall {
  readonly projectId: string;
}

/** Invokes an API operation in the project. Throws Failure. */
export function runIn<D extends Declaration>(
  call: ProjectCall,
  declaration: D,
  input: Parameters<typeof invokeInProject>[3],
): Promise<HandlerResult<D>> {
  return invokeInProject(call, call.projectId, declaration, input);
}

/** The project of the call. Throws Failure if there is none. */
export function projectOf({ runtime, features, projectId }: ProjectCall): Promise<Project> {
  return features.projects.get(runtime.db, projectId);
}
