import { z } from 'zod';
import { bodySizes, teamLimits } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId, newId, required, visibleText } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { preferences, preferencesShape } from '../users/index.js';
import { teamRoles, teamShape } from './model/view.js';

const common = { tag: 'teams', auth: ['user', 'key'], limit: 'data', bodyBytes: bodySizes.account } as const;
const read = { ...common, method: 'GET', scopes: ['teams.read'], status: 200 } as const;
const write = { ...common, scopes: ['teams.write'] } as const;
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
    body: z.object({ teamId: newId, name, roles: teamRoles.default(['owner']) }),
    status: 201,
    reply: json(teamShape),
    errors: ['team_already_exists', 'team_limit_exceeded'],
  },
  list: {
    ...read,
    id: 'teams.list',
    path: '/teams',
    summary: 'Lists the teams the caller is in; all of them for a server key.',
    query: z.object({ ...listParameters, ...searchParameter }),
    reply: json(z.object({ total: z.int(), teams: z.array(teamShape) }).meta({ id: 'TeamList' })),
    bound: 'room',
    errors: ['general_cursor_not_found'],
  },
  get: {
    ...read,
    id: 'teams.get',
    path: '/teams/:teamId',
    summary: 'Reads a team.',
    params,
    reply: json(teamShape),
    errors: ['team_not_found'],
  },
  update: {
    ...write,
    id: 'teams.updateName',
    method: 'PUT',
    path: '/teams/:teamId',
    summary: 'Changes the name of a team. For owners.',
    params,
    body: z.object({ name }),
    status: 200,
    reply: json(teamShape),
    errors: ['team_not_found', 'user_unauthorized'],
  },
  delete: {
    ...write,
    id: 'teams.delete',
    method: 'DELETE',
    path: '/teams/:teamId',
    summary: 'Deletes a team with its memberships. For owners.',
    params,
    status: 204,
    reply: empty,
    errors: ['team_not_found', 'user_unauthorized'],
  },
  getPrefs: {
    ...read,
    id: 'teams.getPrefs',
    path: '/teams/:teamId/prefs',
    summary: 'Reads the preferences of a team.',
    params,
    reply: json(preferencesShape),
    errors: ['team_not_found'],
  },
  updatePrefs: {
    ...write,
    id: 'teams.updatePrefs',
    method: 'PUT',
    path: '/teams/:teamId/prefs',
    summary: 'Replaces the preferences of a team as a whole. For owners.',
    params,
    bodyBytes: bodySizes.prefs,
    body: z.object({ prefs: preferences }),
    status: 200,
    reply: json(preferencesShape),
    errors: ['team_not_found', 'user_unauthorized'],
  },
});
