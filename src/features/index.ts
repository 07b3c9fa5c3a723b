import type { Platform } from '#src/platform/index.js';
import { createAccounts } from './accounts/index.js';
import { createCourier } from './courier/index.js';
import { createDatabasesFeature } from './databases/index.js';
import { createDocumentsFeature } from './documents/index.js';
import { createJobsFeature } from './jobs/index.js';
import { createLimits } from './limits/index.js';
import { createLogins } from './login/index.js';
import { createOneTimeSecrets } from './one-time-secrets/index.js';
import { createProjectsFeature } from './projects/index.js';
import { createSelfService } from './self-service/index.js';
import { createSessionsFeature } from './sessions/index.js';
import { createUsers } from './users/index.js';
import { createWebhooksFeature } from './webhooks/index.js';

export { passwordText, toUser } from './accounts/index.js';
export type { ListedMail, ShownMail } from './courier/index.js';
export { createTexts, lintTexts, messageNames, sampleVariables } from './courier/index.js';
export { attributesApi, databasesApi } from './databases/index.js';
export type { JobState } from './jobs/index.js';
export type { LimitCounter, LimitSelection, Limits } from './limits/index.js';
export type { ProjectPlatform, Projects } from './projects/index.js';
export { toKey, toPlatform, toProject } from './projects/index.js';
export { webhooksApi } from './webhooks/index.js';

/** Builds every feature, each after those it leans on. */
export function createFeatures(platform: Platform) {
  const limits = createLimits(platform);
  const { projects, serverKeys, operations: projectOperations } = createProjectsFeature(platform);
  const courier = createCourier(platform, projects);
  const accounts = createAccounts(platform);
  const secrets = createOneTimeSecrets(platform);
  const {
    sessions,
    operations: sessionOperations,
    jobs: sessionJobs,
  } = createSessionsFeature(platform, accounts, projects);
  const users = createUsers(platform, accounts, sessions, courier);
  const selfService = createSelfService(platform, { accounts, sessions, users, limits });
  const { databases, operations: databaseOperations } = createDatabasesFeature(platform);
  projects.beforeRemoval(databases.dropTables);
  const documents = createDocumentsFeature(platform, databases);
  const logins = createLogins(platform, { accounts, sessions, limits, secrets, courier, projects });
  const hooks = createWebhooksFeature(platform, projects);
  const { jobs } = createJobsFeature(platform, [
    ...limits.jobs,
    ...courier.jobs,
    ...secrets.jobs,
    ...sessionJobs,
    ...hooks.jobs,
  ]);
  return {
    limits,
    projects,
    serverKeys,
    courier,
    sessions,
    users,
    databases,
    webhooks: hooks.webhooks,
    worker: hooks.worker,
    jobs,
    operations: [
      ...selfService.operations,
      ...logins.operations,
      ...sessionOperations,
      ...projectOperations,
      ...databaseOperations,
      ...documents.operations,
      ...hooks.operations,
    ],
  };
}

/** Every feature's services, and the operations of all of them. */
export type Features = ReturnType<typeof createFeatures>;
