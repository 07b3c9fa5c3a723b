import { z } from 'zod';
import { declare, empty, json, serverKeys, usersAndKeys } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes } from '#src/contract/limits.js';
import { customId, displayName, phoneNumber } from '#src/contract/shapes.js';
import { otpText, secretText } from '#src/contract/typed-secret.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { membershipShape } from '../model/membership-view.js';
import { teamRoles } from '../model/view.js';

const common = { tag: 'teams', limits: { calls: 'data', bodyBytes: bodySizes.account } } as const;
const read = { ...common, method: 'GET', access: usersAndKeys('teams.read') } as const;
const write = { ...common, access: usersAndKeys('teams.write') } as const;
const memberships = '/teams/:teamId/memberships';
const ofTeam = z.object({ teamId: customId });
const ofMembership = ofTeam.extend({ membershipId: customId });
/** SDKs send an empty string for an omitted value. */
const orNothing = <S extends z.ZodType>(schema: S) =>
  z.union([z.literal('').transform(() => undefined), schema]).optional();

const list = {
  status: 200,
  shape: json(z.object({ total: z.int(), memberships: z.array(membershipShape) }).meta({ id: 'MembershipList' })),
  bound: 'budget',
} as const;

/** Memberships of teams: inviting, accepting, changing and leaving. */
export const membershipsApi = declare({
  create: {
    ...write,
    id: 'teams.createMembership',
    method: 'POST',
    path: memberships,
    summary: 'Invites somebody by mail (owners), or adds a member at once (server keys).',
    limits: { ...write.limits, calls: 'send' },
    input: {
      params: ofTeam,
      body: z.object({
        email: orNothing(emailAddress),
        userId: orNothing(customId),
        phone: orNothing(phoneNumber),
        roles: teamRoles,
        url: z
          .string()
          .max(2048)
          .optional()
          .meta({ description: 'The page that the mail leads to, on a platform of the project; not for server keys' }),
        name: displayName.default(''),
      }),
    },
    reply: {
      status: 201,
      shape: json(membershipShape),
      errors: [
        ...['team_not_found', 'team_limit_exceeded', 'user_unauthorized', 'user_not_found'],
        ...['user_already_exists', 'membership_already_confirmed'],
      ] as const,
    },
  },
  list: {
    ...read,
    id: 'teams.listMemberships',
    path: memberships,
    summary: 'Lists the members of a team and whom it has invited.',
    input: { params: ofTeam, query: z.object({ ...listParameters, ...searchParameter }) },
    reply: { ...list, errors: ['team_not_found', 'general_cursor_not_found'] },
  },
  listOfUser: {
    ...read,
    id: 'users.listMemberships',
    path: '/users/:userId/memberships',
    summary: 'Lists the teams a user is in or invited to.',
    tag: 'users',
    access: serverKeys('users.read'),
    input: { params: z.object({ userId: customId }), query: z.object({ ...listParameters, ...searchParameter }) },
    reply: { ...list, errors: ['user_not_found', 'general_cursor_not_found'] },
  },
  get: {
    ...read,
    id: 'teams.getMembership',
    path: `${memberships}/:membershipId`,
    summary: 'Reads a membership.',
    input: { params: ofMembership },
    reply: { status: 200, shape: json(membershipShape), errors: ['team_not_found', 'membership_not_found'] },
  },
  update: {
    ...write,
    id: 'teams.updateMembership',
    method: 'PATCH',
    path: `${memberships}/:membershipId`,
    summary: 'Changes the roles of a member. For owners.',
    input: { params: ofMembership, body: z.object({ roles: teamRoles }) },
    reply: {
      status: 200,
      shape: json(membershipShape),
      errors: [
        ...['team_not_found', 'membership_not_found', 'user_unauthorized', 'membership_downgrade_prohibited'],
        'team_limit_exceeded',
      ] as const,
    },
  },
  accept: {
    ...write,
    id: 'teams.updateMembershipStatus',
    method: 'PATCH',
    path: `${memberships}/:membershipId/status`,
    summary: 'Accepts an invitation; where nobody is logged in, the invited user is afterwards.',
    access: { auth: ['guest', 'user', 'key'], scopes: ['sessions.write', 'teams.write'], jwt: false },
    input: {
      params: ofMembership,
      body: z.object({ userId: customId, secret: z.literal('').or(secretText), otp: otpText.optional() }),
    },
    reply: {
      status: 200,
      shape: json(membershipShape),
      session: 'renews',
      errors: [
        ...['user_auth_method_unsupported', 'user_more_factors_required', 'user_invalid_token'],
        ...['team_not_found', 'membership_not_found', 'team_membership_mismatch', 'user_not_found'],
        ...['team_invalid_secret', 'team_invite_mismatch', 'membership_already_confirmed', 'user_blocked'],
        'team_limit_exceeded',
      ] as const,
    },
  },
  delete: {
    ...write,
    id: 'teams.deleteMembership',
    method: 'DELETE',
    path: `${memberships}/:membershipId`,
    summary: 'Removes a member or an invitation (owners), leaves a team or declines (the user).',
    input: { params: ofMembership },
    reply: {
      status: 204,
      shape: empty,
      errors: [
        ...['team_not_found', 'team_invite_not_found', 'team_membership_mismatch', 'user_unauthorized'],
        ...['membership_not_found', 'membership_deletion_prohibited'],
      ] as const,
    },
  },
});
