// The `identity` area: end users, their logins, credentials and teams.

import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { ActivityLog, PersonErasure } from '../events/index.js';
import type { Installation } from '../installation/index.js';
import { createClaims } from './claims/index.js';
import { createErasure } from './erasure/index.js';
import { createEventReaders } from './event-readers/index.js';
import { createExternalLogins, sealedTransactions } from './external-logins/index.js';
import { createFactors, sealedSeeds } from './factors/index.js';
import { createHostedPages } from './hosted-pages/index.js';
import { createIdentities, sealedTokens } from './identities/index.js';
import {
  createLogins,
  loginMethods,
  loginSwitchOf,
  providerKindsOf,
  reservedProviders,
  sealedSamlKeys,
  serverTokenPurpose,
} from './login/index.js';
import { createOneTimeSecrets } from './one-time-secrets/index.js';
import { createPasskeysFeature } from './passkeys/index.js';
import { createProviders, sealedProviders } from './providers/index.js';
import { createRecovery } from './recovery/index.js';
import { createSecondFactor } from './second-factor/index.js';
import { createSelfService } from './self-service/index.js';
import { createSessionsFeature } from './sessions/index.js';
import { createSigningKeysFeature, sealedSecrets } from './signing-keys/index.js';
import { createTakenIds } from './taken-ids/index.js';
import { createTeamsFeature } from './teams/index.js';
import { createTokensFeature } from './tokens/index.js';
import { createUserManagement } from './user-management/index.js';
import { createUserTransfer } from './user-transfer/index.js';
import { createUserChanges, createUsers, sealedPasswords } from './users/index.js';
import { createContactVerification } from './verification/index.js';

/** Columns of this area that store sealed values. */
export const sealedInIdentity = [
  sealedPasswords,
  sealedSeeds,
  sealedSecrets,
  sealedProviders,
  sealedTokens,
  sealedTransactions,
  sealedSamlKeys,
];

interface IdentityDeps extends Pick<Installation, 'limits' | 'projects' | 'serverKeys' | 'courier' | 'idempotency'> {
  readonly lists: Lists;
  readonly activity: ActivityLog;
  readonly recorded: PersonErasure;
}

/** Builds users, their credentials, sessions, tokens and teams. */
function createUsersAndSessions(runtime: Runtime, deps: IdentityDeps) {
  const { lists, limits, projects, serverKeys, courier, activity } = deps;
  const takenIds = createTakenIds(runtime);
  const secrets = createOneTimeSecrets(runtime);
  const users = createUsers(runtime, { lists, takenIds });
  const factors = createFactors({ ...runtime, users, limits, courier });
  const providers = createProviders({ ...runtime, kinds: providerKindsOf(runtime), reserved: reservedProviders });
  const identities = createIdentities({ ...runtime, lists, courier, providers });
  const sessionsFeature = createSessionsFeature(runtime, {
    users,
    activity,
    courier,
    projects,
    factors,
    identities,
    quietProviders: new Set(loginMethods.filter(({ alerts }) => !alerts).map(({ provider }) => provider)),
  });
  const { sessions } = sessionsFeature;
  const keysFeature = createSigningKeysFeature(runtime, projects);
  const { signingKeys } = keysFeature;
  const tokensFeature = createTokensFeature({ ...runtime, users, sessions, signingKeys, serverKeys, limits });
  const passkeysFeature = createPasskeysFeature(runtime, { sessions, factors, identities, projects });
  const { passkeys } = passkeysFeature;
  const otherWaysIn: Parameters<typeof createClaims>[0]['otherWaysIn'] = [
    passkeys.leadsTo,
    (reader, project, { id }) => identities.hasAny(reader, project, id),
  ];
  const claims = createClaims({ users, sessions, secrets, factors, courier, otherWaysIn });
  const teams = createTeamsFeature({ ...runtime, ...deps, users, claims, sessions, takenIds });
  const userChanges = createUserChanges({ ...runtime, limits, users, sessions, memberships: teams, secrets, courier });
  return {
    takenIds,
    secrets,
    users,
    userChanges,
    factors,
    providers,
    identities,
    passkeys,
    claims,
    sessions,
    teams,
    signingKeys,
    tokens: tokensFeature.tokens,
    beforeExtension: sessionsFeature.beforeExtension,
    operations: [passkeysFeature, sessionsFeature, tokensFeature, keysFeature].flatMap(({ operations }) => operations),
    jobs: [secrets, passkeysFeature, sessionsFeature, keysFeature].flatMap(({ jobs }) => jobs),
    settles: [keysFeature.settle],
  };
}

/** Builds end users and their credentials, and the features on top: self-service, user management and login methods. */
export function createIdentity(runtime: Runtime, deps: IdentityDeps) {
  const { teams, ...base } = createUsersAndSessions(runtime, deps);
  const all = { ...deps, ...base };
  const selfService = createSelfService({ ...runtime, ...all });
  const verification = createContactVerification({ ...runtime, ...all });
  const recovery = createRecovery({ ...runtime, ...all });
  const secondFactor = createSecondFactor({ ...runtime, ...all, loginSwitchOf });
  const userManagement = createUserManagement({
    ...runtime,
    ...all,
    secondFactor: secondFactor.service,
    tokenPurpose: serverTokenPurpose,
  });
  const externalLogins = createExternalLogins({ ...runtime, ...all });
  const logins = createLogins(runtime, { ...all, externalLogins });
  const accountOperations = [selfService, verification, recovery, secondFactor, logins].flatMap(
    ({ operations }) => operations,
  );
  const called = [...accountOperations, ...teams.operations, ...base.operations];
  const hostedPages = createHostedPages(runtime, { ...all, operations: called });
  return {
    ...base,
    secondFactor: secondFactor.service,
    logos: hostedPages.logos,
    teams: { withoutOwner: teams.withoutOwner, allWithoutOwner: teams.allWithoutOwner },
    erasure: createErasure(runtime, {
      ...all,
      withdrawAll: (unit, project, recipients) => teams.endAll(unit, project, { recipients }),
    }),
    userTransfer: createUserTransfer({ ...runtime, ...all }),
    membershipImport: teams.membershipImport,
    /** Resolves credentials that were accepted earlier to their users, for streams and sockets. */
    eventReaders: createEventReaders(runtime, all),
    operations: [
      ...accountOperations,
      ...[hostedPages, userManagement, teams, base].flatMap(({ operations }) => operations),
    ],
    jobs: [...base.jobs, ...externalLogins.jobs],
  };
}
