// What an operator does to the project of a test.

import type { Account } from '#src/contract/account.js';
import type { ProjectSettings } from '#src/contract/project.js';
import type { TestAppliance } from './appliance.js';

const operator = { kind: 'operator', id: 'harness' };

/** Changes settings of the test's project as `svc project update` does. */
export async function changeSettings(
  { appliance, project }: TestAppliance,
  settings: Partial<ProjectSettings>,
): Promise<void> {
  const { platform, features } = appliance;
  const by = { projectId: project.id, actor: operator, requestId: 'harness' };
  await platform.db.work(by, (unit) => features.projects.update(unit, project.id, { settings }));
}

/** Lets an operator change a user of the test's project, as `svc user block` and its like do. */
export async function asOperator(
  { appliance, project }: TestAppliance,
  userId: string,
  change: 'block' | 'unblock',
): Promise<Account> {
  const { platform, features } = appliance;
  const account = await features.users.find(project, userId);
  const by = { projectId: project.id, actor: operator, requestId: 'harness' };
  return platform.db.work(by, (unit) => features.users[change](unit, project, account));
}
