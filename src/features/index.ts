import type { Platform } from '#src/platform/index.js';
import { createAccounts } from './accounts/index.js';
import { createActivity } from './activity/index.js';
import { createCourier } from './courier/index.js';
import { createDatabasesFeature } from './databases/index.js';
import { createDocumentsFeature } from './documents/index.js';
import { createFactors } from './factors/index.js';
import { createJobsFeature } from './jobs/index.js';
import { createLimits } from './limits/index.js';
import { createLists } from './lists/index.js';
import { createLogins } from './login/index.js';
import { createOneTimeSecrets } from './one-time-secrets/index.js';
import { createProjectsFeature } from './projects/index.js';
import { createRecovery } from './recovery/index.js';
import { createSecondFactor } from './second-factor/index.js';
import { createSelfService } from './self-service/index.js';
import { createSessionsFeature } from './sessions/index.js';
import { createSigningKeysFeature } from './signing-keys/index.js';
import { createTeamsFeature } from './teams/index.js';
import { createTokensFeature } from './tokens/index.js';
import { createUserManagement } from './user-management/index.js';
import { createUsers } from './users/index.js';
import { createVerification } from './verification/index.js';
import { createWebhooksFeature } from './webhooks/index.js';

export { labelList, passwordText, toUser } from './accounts/index.js';
export type { ListedMail, ShownMail } from './courier/index.js';
export { createTexts, lintTexts, messageNames, sampleVariables } from './courier/index.js';
export { attributesApi, databasesApi } from './databases/index.js';
export type { JobState } from './jobs/index.js';
export type { LimitCounter, LimitSelection, Limits } from './limits/index.js';
export { searchParameter } from './lists/index.js';
export type { ProjectPlatform, Projects } from './projects/index.js';
export { toKey, toPlatform, toProject } from './projects/index.js';
export { toSession } from './sessions/index.js';
export type { SigningKeyStatus } from './signing-keys/index.js';
export { membershipsApi, teamsApi } from './teams/index.js';
export { webhooksApi } from './webhooks/index.js';

/** Builds every feature, each after those it leans on. */
export function createFeatures(platform: Platform) {
  const limits = createLimits(platform);
  const lists = createLists(platform);
  const { projects, serverKeys, operations: projectOperations } = createProjectsFeature(platform);
  const courier = createCourier(platform, projects);
  const accounts = createAccounts(platform, lists);
  const secrets = createOneTimeSecrets(platform);
  const factors = createFactors(platform, { limits, courier });
  const activity = createActivity(platform);
  const {
    sessions,
    operations: sessionOperations,
    jobs: sessionJobs,
  } = createSessionsFeature(platform, { accounts, activity, courier, projects, factors });
  const { signingKeys, operations: keyOperations, jobs: keyJobs } = createSigningKeysFeature(platform, projects);
  const { tokens, operations: tokenOperations } = createTokensFeature(platform, {
    ...{ accounts, sessions, signingKeys, limits },
  });
  const users = createUsers(platform, { accounts, sessions, secrets, courier });
  const selfService = createSelfService(platform, { accounts, sessions, users, limits, activity });
  const verification = createVerification(platform, { accounts, secrets, courier, limits, projects });
  const recovery = createRecovery(platform, { accounts, users, secrets, courier, limits, projects });
  const secondFactor = createSecondFactor(platform, { accounts, factors, sessions, secrets, courier, limits });
  const userManagement = createUserManagement(platform, {
    ...{ accounts, sessions, secrets, users, lists, tokens, activity, factors },
    secondFactor: secondFactor.service,
  });
  const teams = createTeamsFeature(platform, { lists, projects, courier, accounts, sessions, limits });
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
    ...keyJobs,
    ...hooks.jobs,
  ]);
  return {
    limits,
    projects,
    serverKeys,
    courier,
    sessions,
    signingKeys,
    tokens,
    users,
    secondFactor: secondFactor.service,
    databases,
    webhooks: hooks.webhooks,
    worker: hooks.worker,
    jobs,
    operations: [
      ...selfService.operations,
      ...verification.operations,
      ...recovery.operations,
      ...secondFactor.operations,
      ...logins.operations,
      ...userManagement.operations,
      ...sessionOperations,
      ...tokenOperations,
      ...keyOperations,
      ...teams.operations,
      ...projectOperations,
      ...databaseOperations,
      ...documents.operations,
      ...hooks.operations,
    ],
  };
}

/** Every feature's services, and the operations of all of them. */
export type Features = ReturnType<typeof createFeatures>;
