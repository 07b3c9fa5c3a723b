import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { Courier, Limits, Projects } from '../../installation/index.js';
import type { Claims } from '../claims/index.js';
import type { Sessions } from '../sessions/index.js';
import type { TakenIds } from '../taken-ids/index.js';
import type { Users } from '../users/index.js';
import { createAcceptances } from './memberships/acceptance.js';
import { createMembershipImport } from './memberships/import.js';
import { createInvitations } from './memberships/invitations.js';
import { membershipOperations } from './memberships/operations.js';
import { createMemberships } from './memberships/service.js';
import { createMembershipStore } from './model/membership-store.js';
import { createMembershipRepository } from './model/memberships.js';
import { createTeams } from './model/service.js';
import { createTeamStore } from './model/store.js';
import { teamOperations } from './operations.js';

export { teamsApi } from './api.js';
export { membershipsApi } from './memberships/api.js';
export { membershipShape } from './model/membership-view.js';
export { teamShape } from './model/view.js';

interface Deps {
  readonly lists: Lists;
  readonly projects: Projects;
  readonly courier: Courier;
  readonly users: Users;
  readonly claims: Claims;
  readonly sessions: Sessions;
  readonly limits: Limits;
  readonly takenIds: TakenIds;
}

/** Teams, their memberships and their invitations. */
export function createTeamsFeature(runtime: Runtime, deps: Deps) {
  const { sql } = runtime;
  const store = createMembershipStore(sql);
  const membershipRepository = createMembershipRepository(store);
  const teams = createTeams(runtime, createTeamStore(sql), { ...deps, membershipRepository });
  const within = { ...deps, teams, membershipRepository };
  const memberships = createMemberships(runtime, store, within);
  return {
    endAll: memberships.endAll,
    membershipImport: createMembershipImport(runtime, within),
    withoutOwner: membershipRepository.withoutOwner,
    /** Teams of any project that have members but no owner, up to `limit`. */
    allWithoutOwner: async (reader: Reader, limit: number): Promise<{ projectId: string; teamId: string }[]> =>
      (await reader.all(store.allWithoutOwner(limit))).map((row) => ({
        projectId: String(row.project_id),
        teamId: String(row.team_id),
      })),
    operations: [
      ...teamOperations(runtime, teams),
      ...membershipOperations(runtime, deps.projects, {
        memberships,
        invitations: createInvitations(runtime, within),
        acceptances: createAcceptances(within),
      }),
    ],
  };
}
