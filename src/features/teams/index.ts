import { Failure } from '#src/contract/errors.js';
import { by, type Call, implement } from '#src/contract/operation.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Courier } from '../courier/index.js';
import type { Limits } from '../limits/index.js';
import type { Lists } from '../lists/index.js';
import type { Projects } from '../projects/index.js';
import type { Sessions } from '../sessions/index.js';
import { teamsApi } from './api.js';
import { createAcceptance } from './memberships/acceptance.js';
import { membershipsApi } from './memberships/api.js';
import { createInvitations } from './memberships/invitations.js';
import { createRoster } from './memberships/roster.js';
import { createMemberships } from './memberships/service.js';
import { createMembershipStore } from './memberships/store.js';
import { type NamedMembership, toMembership } from './memberships/view.js';
import { type Caller, createTeams, type Teams } from './service.js';
import { createTeamStore } from './store.js';
import { toTeam } from './view.js';

export { teamsApi } from './api.js';
export { membershipsApi } from './memberships/api.js';

/** What teams lean on. */
interface Doors {
  readonly lists: Lists;
  readonly projects: Projects;
  readonly courier: Courier;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly limits: Limits;
}

/** Teams, who is in them, and the invitations that lead there. */
export function createTeamsFeature(platform: Platform, doors: Doors) {
  const { sql } = platform;
  const store = createMembershipStore(sql);
  const roster = createRoster(store);
  const teams = createTeams(platform, createTeamStore(sql), { ...doors, roster });
  const within = { ...doors, teams, roster };
  return {
    operations: [
      ...teamOperations(platform, teams),
      ...membershipOperations(platform, doors.projects, {
        memberships: createMemberships(platform, store, within),
        invitations: createInvitations(platform, within),
        acceptance: createAcceptance(within),
      }),
    ],
  };
}

function teamOperations({ db }: Platform, teams: Teams) {
  return implement(teamsApi, {
    create: async (call) => {
      const { teamId: id, name, roles } = call.body;
      return toTeam(
        await db.work(by(call), (unit) => teams.create(unit, call.project, call.actor, { id, name, roles })),
      );
    },
    list: async ({ project, actor, query }) => {
      const { total, teams: found } = await teams.list(project, actor, query);
      return { total, teams: found.map(toTeam) };
    },
    get: async ({ project, actor, params }) => toTeam(await teams.get(db, project, actor, params.teamId)),
    update: async (call) =>
      toTeam(
        await db.work(by(call), (unit) =>
          teams.rename(unit, call.project, call.actor, call.params.teamId, call.body.name),
        ),
      ),
    delete: (call) => db.work(by(call), (unit) => teams.remove(unit, call.project, call.actor, call.params.teamId)),
    getPrefs: async ({ project, actor, params }) => ({
      ...(await teams.get(db, project, actor, params.teamId)).prefs,
    }),
    updatePrefs: async (call) => {
      const { prefs } = await db.work(by(call), (unit) =>
        teams.changePrefs(unit, call.project, call.actor, call.params.teamId, call.body.prefs),
      );
      return { ...prefs };
    },
  });
}

interface Services {
  readonly memberships: ReturnType<typeof createMemberships>;
  readonly invitations: ReturnType<typeof createInvitations>;
  readonly acceptance: ReturnType<typeof createAcceptance>;
}

function membershipOperations(
  { db }: Platform,
  projects: Projects,
  { memberships, invitations, acceptance }: Services,
) {
  const shown = ({ project, actor }: { project: Call['project']; actor: Caller }, named: NamedMembership) =>
    toMembership(named, memberships.sightOf(project, actor, named));
  const create = async (call: Call<typeof membershipsApi.create>): Promise<NamedMembership> => {
    const { project, actor, request, body, params } = call;
    const { email, userId, phone, name, roles, url = '' } = body;
    if (email === undefined && userId === undefined && phone === undefined)
      throw new Failure('general_argument_invalid', { message: 'One of `email`, `userId` and `phone` must be given.' });
    const wanted = { email, userId, phone, name, roles };
    if (actor.kind !== 'user')
      return db.work(by(call), (unit) => invitations.add(unit, project, params.teamId, wanted));
    const inviter = { actor, request, url: projects.demandOwnUrl(project, url) };
    return db.work(by(call), (unit) => invitations.invite(unit, project, inviter, params.teamId, wanted));
  };
  return implement(membershipsApi, {
    create: async (call) => shown(call, await create(call)),
    list: async (call) => {
      const { project, actor, params, query } = call;
      const { total, memberships: found } = await memberships.list(project, actor, params.teamId, query);
      return { total, memberships: found.map((named) => shown(call, named)) };
    },
    listOfUser: async ({ project, params, query }) => {
      const { total, memberships: found } = await memberships.listOfUser(project, params.userId, query);
      return { total, memberships: found.map((named) => toMembership(named, 'everything')) };
    },
    get: async (call) => {
      const { project, actor, params } = call;
      return shown(call, await memberships.get(project, actor, params.teamId, params.membershipId));
    },
    update: async (call) => {
      const { project, actor, params, body } = call;
      const given = { teamId: params.teamId, id: params.membershipId, roles: body.roles };
      return shown(call, await db.work(by(call), (unit) => memberships.changeRoles(unit, project, actor, given)));
    },
    accept: async (call) => {
      const { project, actor, request, params, body } = call;
      const given = { actor, request, teamId: params.teamId, id: params.membershipId, ...body, otp: body.otp };
      const joined = await db.work(by(call), (unit) => acceptance.accept(unit, project, given));
      const answer = toMembership(joined, 'everything');
      const { opened } = joined;
      if (opened === undefined) return answer;
      return new WithSession(answer, { secret: opened.secret, expire: opened.session.expire });
    },
    delete: (call) =>
      db.work(by(call), (unit) =>
        memberships.remove(unit, call.project, call.actor, call.params.teamId, call.params.membershipId),
      ),
  });
}
