// The area `assets`: facts and images that are the same for every project. Nothing is stored.

import type { Runtime } from '#src/platform/index.js';
import { createAvatars } from './avatars/index.js';
import { createLocaleFacts } from './locale/index.js';

/** Builds facts about countries, currencies and languages, and images drawn on request. */
export function createAssets(runtime: Pick<Runtime, 'images'>) {
  const locale = createLocaleFacts();
  const avatars = createAvatars(runtime);
  return { operations: [...locale.operations, ...avatars.operations], jobs: [] };
}
