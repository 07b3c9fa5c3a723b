import type { ProjectSettings } from '#src/contract/project.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Config } from '#src/platform/config/schema.js';

/** True if the project shows the pages for developers. */
export function isReferenceOn(settings: ProjectSettings, { baseUrl }: Pick<Config, 'baseUrl'>): boolean {
  return settings['api.reference'] ?? isOnLocalhost(baseUrl);
}
