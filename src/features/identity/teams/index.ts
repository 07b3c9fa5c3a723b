import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import { createMembershipImport } from './memberships/import.js';
import { membershipOperations } from './memberships/operations.js';
import { createMemberships, type MembershipDeps } from './memberships/service.js';
import { createMembershipStore } from './model/membership-store.js';
import { createMembershipRepository } from './model/memberships.js';
import { createTeams } from './model/service.js';
import { createTeamStore } from './model/store.js';
import { teamOperations } from './operations.js';

export { teamsApi } from './api.js';
export { membershipsApi } from './memberships/api.js';
export { membershipShape } from './model/membership-view.js';
export { teamShape } from './model/view.js';

interface Deps extends Pick<Runtime, 'sql'>, Omit<MembershipDeps, 'store' | 'teams' | 'membershipRepository'> {
  readonly projects: Projects;
}

/** Teams, their memberships and their invitations. */
export function createTeamsFeature(deps: Deps) {
  const { sql } = deps;
  const store = createMembershipStore(sql);
  const membershipRepository = createMembershipRepository(store);
  const teams = createTeams({ ...deps, store: createTeamStore(sql), membershipRepository });
  const within: MembershipDeps = { ...deps, store, teams, membershipRepository };
  const memberships = createMemberships(within);
  return {
    endAll: memberships.endAll,
    membershipImport: createMembershipImport(within),
    withoutOwner: membershipRepository.withoutOwner,
    /** Teams of any project that have members but no owner, up to `limit`. */
    allWithoutOwner: async (reader: Reader, limit: number): Promise<{ projectId: string; teamId: string }[]> =>
      (await reader.all(store.allWithoutOwner(limit))).map((row) => ({
        projectId: String(row.project_id),
        teamId: String(row.team_id),
      })),
    operations: [
      ...teamOperations(deps, teams),
      ...membershipOperations({ ...within, projects: deps.projects }, memberships),
    ],
  };
}
