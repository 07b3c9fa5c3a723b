import { Failure } from '#src/contract/errors.js';
import { type ProjectSettings, projectSettings } from '#src/contract/project.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Config } from '#src/platform/config/schema.js';

/** Applies a change to stored settings. A null resets a setting to its default. Throws Failure for unknown settings and invalid values. */
export function mergeSettings(
  stored: Partial<ProjectSettings>,
  change: Readonly<Record<string, unknown>>,
): Partial<ProjectSettings> {
  const merged: Record<string, unknown> = { ...stored };
  for (const [key, value] of Object.entries(change)) {
    if (!Object.hasOwn(projectSettings.shape, key)) {
      throw new Failure('general_argument_invalid', {
        message: `"${key}" is not a project setting. Known: ${Object.keys(projectSettings.shape).join(', ')}.`,
      });
    }
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  const parsed = projectSettings.safeParse(merged);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Failure('general_argument_invalid', {
      problems: [{ kind: 'setting', name: String(issue?.path.join('.')), problem: String(issue?.message) }],
    });
  }
  return merged as Partial<ProjectSettings>;
}

/** True if the project shows the pages for developers. */
export function isReferenceOn(settings: ProjectSettings, { baseUrl }: Pick<Config, 'baseUrl'>): boolean {
  return settings['api.reference'] ?? isOnLocalhost(baseUrl);
}
