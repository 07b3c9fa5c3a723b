import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import { WithSession } from '#src/contract/with-session.js';
import { listRequestOf } from '#src/platform/list-query/index.js';
import type { Projects } from '../../../installation/index.js';
import { type NamedMembership, toMembership } from '../model/membership-view.js';
import type { TeamCaller } from '../model/service.js';
import { acceptInvitation } from './acceptance.js';
import { membershipsApi } from './api.js';
import { addMember, inviteMember } from './invitations.js';
import type { MembershipDeps, Memberships } from './service.js';

/** Handlers of the operations on memberships. */
export function membershipOperations(deps: MembershipDeps & { readonly projects: Projects }, memberships: Memberships) {
  const { db, projects } = deps;
  const shown = ({ project, actor }: { project: Call['project']; actor: TeamCaller }, named: NamedMembership) =>
    toMembership(named, memberships.sightOf(project, actor, named));
  const create = async (call: Call<typeof membershipsApi.create>): Promise<NamedMembership> => {
    const { project, actor, request, body, params } = call;
    const { email, userId, phone, name, roles, url = '' } = body;
    if (email === undefined && userId === undefined && phone === undefined)
      throw new Failure('general_argument_invalid', { message: 'One of `email`, `userId` and `phone` must be given.' });
    const invitation = { email, userId, phone, name, roles };
    if (actor.kind !== 'user')
      return db.work(auditContextOf(call), (unit) => addMember(deps, unit, project, params.teamId, invitation));
    const inviter = { actor, request, url: projects.requireOwnUrl(project, url) };
    return db.work(auditContextOf(call), (unit) =>
      inviteMember(deps, unit, project, inviter, params.teamId, invitation),
    );
  };
  return implement(membershipsApi, {
    create: async (call) => shown(call, await create(call)),
    list: async (call) => {
      const { project, actor, params } = call;
      const { total, memberships: found } = await memberships.list(project, actor, params.teamId, listRequestOf(call));
      return { total, memberships: found.map((named) => shown(call, named)) };
    },
    listOfUser: async ({ project, params, query, request }) => {
      const listRequest = listRequestOf({ query, request });
      const { total, memberships: found } = await memberships.listOfUser(project, params.userId, listRequest);
      return { total, memberships: found.map((named) => toMembership(named, 'everything')) };
    },
    get: async (call) => {
      const { project, actor, params } = call;
      return shown(call, await memberships.get(project, actor, params.teamId, params.membershipId));
    },
    update: async (call) => {
      const { project, actor, params, body } = call;
      const input = { teamId: params.teamId, id: params.membershipId, roles: body.roles };
      return shown(
        call,
        await db.work(auditContextOf(call), (unit) => memberships.changeRoles(unit, project, actor, input)),
      );
    },
    accept: async (call) => {
      const { project, actor, request, params, body } = call;
      const input = { actor, request, teamId: params.teamId, id: params.membershipId, ...body, otp: body.otp };
      const joined = await db.work(auditContextOf(call), (unit) => acceptInvitation(deps, unit, project, input));
      const answer = toMembership(joined, 'everything');
      const { opened } = joined;
      if (opened === undefined) return answer;
      return new WithSession(answer, { secret: opened.secret, expire: opened.session.expire });
    },
    delete: (call) =>
      db.work(auditContextOf(call), (unit) =>
        memberships.remove(unit, call.project, call.actor, call.params.teamId, call.params.membershipId),
      ),
  });
}
