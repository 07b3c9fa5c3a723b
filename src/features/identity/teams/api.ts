import { z } from 'zod';
import { declare, empty, json, usersAndKeys } from '#src/contract/declaration.js';
import { bodySizes, teamLimits } from '#src/contract/limits.js';
import { customId, newId, required, visibleText } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { preferences, preferencesShape } from '../users/index.js';
import { teamRoles, teamShape } from './model/view.js';

const common = { tag: 'teams', limits: { calls: 'data', bodyBytes: bodySizes.account } } as const;
const read = { ...common, method: 'GET', access: usersAndKeys('teams.read') } as const;
const write = { ...common, access: usersAndKeys('teams.write') } as const;
const params = z.object({ teamId: customId });
const name = required(visibleText(teamLimits.name));

/** Teams of users. */
export const teamsApi = declare({
  create: {
    ...write,
    id: 'teams.create',
    method: 'POST',
    path: '/teams',
    summary: 'Creates a team; a user who does becomes its owner.',
    input: { body: z.object({ teamId: newId, name, roles: teamRoles.default(['owner']) }) },
    reply: { status: 201, shape: json(teamShape), errors: ['team_already_exists', 'team_limit_exceeded'] },
  },
  list: {
    ...read,
    id: 'teams.list',
    path: '/teams',
    summary: 'Lists the teams the caller is in; all of them for a server key.',
    input: { query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), teams: z.array(teamShape) }).meta({ id: 'TeamList' })),
      bound: 'budget',
      errors: ['general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'teams.get',
    path: '/teams/:teamId',
    summary: 'Reads a team.',
    input: { params },
    reply: { status: 200, shape: json(teamShape), errors: ['team_not_found'] },
  },
  update: {
    ...write,
    id: 'teams.updateName',
    method: 'PUT',
    path: '/teams/:teamId',
    summary: 'Changes the name of a team. For owners.',
    input: { params, body: z.object({ name }) },
    reply: { status: 200, shape: json(teamShape), errors: ['team_not_found', 'user_unauthorized'] },
  },
  delete: {
    ...write,
    id: 'teams.delete',
    method: 'DELETE',
    path: '/teams/:teamId',
    summary: 'Deletes a team with its memberships. For owners.',
    input: { params },
    reply: { status: 204, shape: empty, errors: ['team_not_found', 'user_unauthorized'] },
  },
  getPrefs: {
    ...read,
    id: 'teams.getPrefs',
    path: '/teams/:teamId/prefs',
    summary: 'Reads the preferences of a team.',
    input: { params },
    reply: { status: 200, shape: json(preferencesShape), errors: ['team_not_found'] },
  },
  updatePrefs: {
    ...write,
    id: 'teams.updatePrefs',
    method: 'PUT',
    path: '/teams/:teamId/prefs',
    summary: 'Replaces the preferences of a team as a whole. For owners.',
    limits: { ...write.limits, bodyBytes: bodySizes.prefs },
    input: { params, body: z.object({ prefs: preferences }) },
    reply: { status: 200, shape: json(preferencesShape), errors: ['team_not_found', 'user_unauthorized'] },
  },
});
