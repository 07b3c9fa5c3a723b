import { Failure } from '#src/contract/errors.js';
import type { Projects } from '#src/features/index.js';
import type { Reader } from '#src/platform/db/unit.js';
import { retry } from '#src/platform/runtime/retry.js';

/** Creates a project with a free id derived from its name. Tries the next id if another process was faster. */
export async function withFreeId<T>(
  { projects, reader }: { readonly projects: Pick<Projects, 'proposeId'>; readonly reader: Reader },
  name: string,
  create: (id: string) => Promise<T>,
): Promise<T> {
  const taken: readonly string[] = ['project_already_exists', 'project_id_taken'];
  return retry(
    async () => create(await projects.proposeId(reader, name)),
    (error) => error instanceof Failure && taken.includes(error.type),
  );
}
