import { Failure } from '#src/contract/errors.js';
import { conflictError } from '../terminal/exit.js';
import type { ApplianceCall } from './command.js';

/** Creates a user or a team. Reports if the requested id belonged to a deleted one. */
export async function creating<T>(
  { args, runtime, features }: ApplianceCall,
  kind: 'user' | 'team',
  create: () => Promise<T>,
): Promise<T> {
  try {
    return await create();
  } catch (error) {
    const id = args.text('--id');
    if (id === undefined || !(error instanceof Failure) || error.type !== `${kind}_already_exists`) throw error;
    const taken = { projectId: args.required('--project'), kind, id };
    if (!(await features.takenIds.has(runtime.db, taken))) throw error;
    const message = `A deleted ${kind} had this id, and ids are never given again.`;
    throw conflictError(error.type, message, 'choose another --id');
  }
}
