// What an operator does to the project of a test.

import type { ProjectSettings } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { TestAppliance } from './appliance.js';

const operator = { kind: 'operator', id: 'harness' };

/** Changes settings of the test's project as `svc project update` does. */
export async function changeSettings(
  { appliance, project }: TestAppliance,
  settings: Partial<ProjectSettings>,
): Promise<void> {
  const { runtime, features } = appliance;
  const by = { projectId: project.id, actor: operator, requestId: 'harness' };
  await runtime.db.work(by, (unit) => features.projects.update(unit, project.id, { settings }));
}

/** Lets an operator change a user of the test's project, as `svc user block` and its like do. */
export async function asOperator(
  { appliance, project }: TestAppliance,
  userId: string,
  change: 'block' | 'unblock',
): Promise<UserRecord> {
  const { runtime, features } = appliance;
  const account = await features.users.getByIdOrEmail(project.id, userId);
  const by = { projectId: project.id, actor: operator, requestId: 'harness' };
  return runtime.db.work(by, (unit) => features.userChanges[change](unit, project, account));
}
