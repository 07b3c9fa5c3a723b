import type { Runtime } from '#src/platform/index.js';
import { createLists } from '../platform/list-query/index.js';
import { createDatabasesFeature } from './data/databases/index.js';
import { createDocumentsFeature } from './data/documents/index.js';
import { createActivity } from './events/activity/index.js';
import { createEventOutbox } from './events/outbox/index.js';
import { createWebhooksFeature, sealedWebhooks } from './events/webhooks/index.js';
import { createClaims } from './identity/claims/index.js';
import { createExternalLogins, sealedTransactions } from './identity/external-logins/index.js';
import { createFactors, sealedSeeds } from './identity/factors/index.js';
import { createHostedPages } from './identity/hosted-pages/index.js';
import { createIdentities, sealedTokens } from './identity/identities/index.js';
import { createLogins, loginMethods, providerKindsOf, reservedProviders } from './identity/login/index.js';
import { createOneTimeSecrets } from './identity/one-time-secrets/index.js';
import { createPasskeysFeature } from './identity/passkeys/index.js';
import { createProviders, sealedProviders } from './identity/providers/index.js';
import { createRecovery } from './identity/recovery/index.js';
import { createSecondFactor } from './identity/second-factor/index.js';
import { createSelfService } from './identity/self-service/index.js';
import { createSessionsFeature } from './identity/sessions/index.js';
import { createSigningKeysFeature, sealedSecrets } from './identity/signing-keys/index.js';
import { createTakenIds } from './identity/taken-ids/index.js';
import { createTeamsFeature } from './identity/teams/index.js';
import { createTokensFeature } from './identity/tokens/index.js';
import { createUserManagement } from './identity/user-management/index.js';
import { createUserChanges, createUsers, sealedPasswords } from './identity/users/index.js';
import { createVerification } from './identity/verification/index.js';
import { createCourier, sealedMessages } from './installation/courier/index.js';
import { createJobsFeature } from './installation/jobs/index.js';
import { createLimits } from './installation/limits/index.js';
import { createProjectsFeature } from './installation/projects/index.js';

export { searchParameter } from '../platform/list-query/index.js';
export type { CollectionSize } from './data/databases/index.js';
export { attributesApi, attributeTypes, databasesApi, newAttributesApi, typeNames } from './data/databases/index.js';
export type { AdvisedScan } from './data/documents/index.js';
export { webhooksApi } from './events/webhooks/index.js';
export { linkTo } from './identity/one-time-secrets/index.js';
export { toProvider } from './identity/providers/index.js';
export { toSession } from './identity/sessions/index.js';
export type { SigningKeyStatus } from './identity/signing-keys/index.js';
export { membershipsApi, teamsApi } from './identity/teams/index.js';
export { labelList, passwordText, toUser } from './identity/users/index.js';
export type { ListedMail, ShownMail } from './installation/courier/index.js';
export { createTexts, lintTexts, messageNames, sampleVariables } from './installation/courier/index.js';
export type { JobState } from './installation/jobs/index.js';
export type { LimitCounter, LimitSelection, Limits } from './installation/limits/index.js';
export type { ProjectPlatform, Projects } from './installation/projects/index.js';
export { toKey, toPlatform, toProject } from './installation/projects/index.js';

/** Every column that holds sealed values. */
export const sealedColumns = [
  sealedPasswords,
  sealedSeeds,
  sealedSecrets,
  sealedProviders,
  sealedTokens,
  sealedTransactions,
  ...Object.values(sealedMessages),
  ...Object.values(sealedWebhooks),
];

/** Builds every feature, each after those it leans on. */
export function createFeatures(runtime: Runtime) {
  createEventOutbox(runtime);
  const limits = createLimits(runtime);
  const lists = createLists(runtime);
  const { projects, serverKeys, operations: projectOperations, rebinding } = createProjectsFeature(runtime);
  const courier = createCourier(runtime, projects);
  const takenIds = createTakenIds(runtime);
  const secrets = createOneTimeSecrets(runtime);
  const users = createUsers(runtime, { lists, takenIds });
  const factors = createFactors(runtime, { users, limits, courier });
  const activity = createActivity(runtime);
  const providers = createProviders(runtime, { kinds: providerKindsOf(runtime), reserved: reservedProviders });
  const identities = createIdentities(runtime, { lists });
  const {
    sessions,
    operations: sessionOperations,
    jobs: sessionJobs,
    beforeExtension,
  } = createSessionsFeature(runtime, {
    users,
    activity,
    courier,
    projects,
    factors,
    identities,
    quietProviders: new Set(loginMethods.filter(({ alerts }) => !alerts).map(({ provider }) => provider)),
  });
  const {
    signingKeys,
    operations: keyOperations,
    jobs: keyJobs,
    settle: settleKeys,
  } = createSigningKeysFeature(runtime, projects);
  const { tokens, operations: tokenOperations } = createTokensFeature(runtime, {
    users,
    sessions,
    signingKeys,
    limits,
  });
  const passkeysFeature = createPasskeysFeature(runtime, { sessions, factors, identities, projects });
  const { passkeys } = passkeysFeature;
  const otherWaysIn: Parameters<typeof createClaims>[0]['otherWaysIn'] = [
    passkeys.leadsTo,
    (reader, project, { id }) => identities.hasAny(reader, project, id),
  ];
  const claims = createClaims({ users, sessions, secrets, factors, courier, otherWaysIn });
  const userChanges = createUserChanges(runtime, { limits, users, sessions, secrets, courier });
  const selfService = createSelfService(runtime, {
    ...{ users, sessions, passkeys, identities },
    ...{ userChanges, limits, activity },
  });
  const verification = createVerification(runtime, { users, claims, secrets, sessions, courier, limits, projects });
  const recovery = createRecovery(runtime, { users, claims, userChanges, secrets, courier, limits, projects });
  const secondFactor = createSecondFactor(runtime, { users, factors, sessions, secrets, courier, limits });
  const userManagement = createUserManagement(runtime, {
    users,
    sessions,
    secrets,
    userChanges,
    lists,
    tokens,
    activity,
    factors,
    identities,
    secondFactor: secondFactor.service,
    passkeys,
  });
  const teams = createTeamsFeature(runtime, {
    lists,
    projects,
    courier,
    users,
    claims,
    sessions,
    limits,
    takenIds,
  });
  const { databases, operations: databaseOperations, jobs: databaseJobs } = createDatabasesFeature(runtime, lists);
  projects.beforeRemoval(databases.dropTables);
  const documents = createDocumentsFeature(runtime, databases);
  const externalLogins = createExternalLogins(runtime, {
    users,
    userChanges,
    claims,
    identities,
    sessions,
    secrets,
    projects,
  });
  const loginDeps = {
    ...{ users, claims, sessions, limits, secrets, courier, projects, factors, passkeys },
    ...{ identities, providers, externalLogins, beforeExtension },
  };
  const logins = createLogins(runtime, loginDeps, loginMethods);
  const accountOperations = [selfService, verification, recovery, secondFactor, logins].flatMap(
    (feature) => feature.operations,
  );
  const hostedPages = createHostedPages(runtime, { projects, providers, operations: accountOperations });
  const hooks = createWebhooksFeature(runtime, projects, lists);
  const { jobs } = createJobsFeature(
    runtime,
    [
      ...limits.jobs,
      ...courier.jobs,
      ...secrets.jobs,
      ...passkeysFeature.jobs,
      ...sessionJobs,
      ...externalLogins.jobs,
      ...keyJobs,
      ...databaseJobs(documents.reprint),
      ...hooks.jobs,
      ...documents.scans.jobs,
      rebinding(sealedColumns),
    ],
    [limits.settle, courier.settle, settleKeys, hooks.settle],
  );
  return {
    limits,
    projects,
    serverKeys,
    courier,
    sessions,
    signingKeys,
    tokens,
    users,
    userChanges,
    identities,
    providers,
    secondFactor: secondFactor.service,
    teams: { withoutOwner: teams.withoutOwner },
    databases,
    scans: documents.scans,
    webhooks: hooks.webhooks,
    worker: hooks.worker,
    jobs,
    operations: [
      ...accountOperations,
      ...[passkeysFeature, hostedPages, userManagement, teams, documents, hooks].flatMap(
        ({ operations }) => operations,
      ),
      ...sessionOperations,
      ...tokenOperations,
      ...keyOperations,
      ...projectOperations,
      ...databaseOperations,
    ],
    /** Operations without routes, which GraphQL calls. */
    valueOperations: documents.valueOperations,
  };
}

/** Every feature's services, and the operations of all of them. */
export type Features = ReturnType<typeof createFeatures>;
