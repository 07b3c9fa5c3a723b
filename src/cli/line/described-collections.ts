import { schemaLimits } from '#src/contract/limits.js';
import type { Collection } from '#src/features/index.js';
import { failedError } from '../terminal/exit.js';
import type { ApplianceCall } from './command.js';

/** The SDKs that printed code can be for. */
export const sdkNames = ['appwrite', 'node-appwrite'] as const;

/** The collections of a project with their attributes. Throws CommandError if they have too many bytes. */
export async function describedCollections(
  { runtime, features }: Pick<ApplianceCall, 'runtime' | 'features'>,
  projectId: string,
): Promise<readonly Collection[]> {
  const collections = await features.databases.describedCollections(runtime.db, projectId);
  if (collections !== undefined) return collections;
  throw failedError(
    'schema_too_large',
    `the collections of the project have more than ${schemaLimits.describedBytes} bytes of attributes`,
    `svc collection list --project ${projectId}`,
  );
}
