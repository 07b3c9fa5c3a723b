import { z } from 'zod';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId, displayName, newId, uniqueId } from '#src/contract/shapes.js';
import { platformShape } from './view.js';

const common = { tag: 'project', auth: ['key'], limit: 'data' } as const;
const params = z.object({ platformId: customId });
const hostname = z
  .string()
  .min(1)
  .max(253)
  .meta({ description: 'Host name without scheme, port and path; *.example.com for all subdomains' });

/** The web origins of a project, for its server keys. */
export const platformsApi = declare({
  create: {
    ...common,
    id: 'platforms.create',
    method: 'POST',
    path: '/project/platforms/web',
    summary: 'Registers a host name whose pages may call the service.',
    scopes: ['platforms.write'],
    body: z.object({ platformId: newId.default(uniqueId), name: displayName.default(''), hostname }),
    status: 201,
    reply: json(platformShape),
    errors: ['platform_already_exists', 'platform_limit_exceeded'],
  },
  list: {
    ...common,
    id: 'platforms.list',
    method: 'GET',
    path: '/project/platforms',
    summary: 'Lists the platforms of the project.',
    scopes: ['platforms.read'],
    status: 200,
    reply: json(z.object({ total: z.int(), platforms: z.array(platformShape) }).meta({ id: 'PlatformList' })),
    bound: 'room',
    errors: [],
  },
  get: {
    ...common,
    id: 'platforms.get',
    method: 'GET',
    path: '/project/platforms/:platformId',
    summary: 'Reads a platform.',
    scopes: ['platforms.read'],
    params,
    status: 200,
    reply: json(platformShape),
    errors: ['platform_not_found'],
  },
  update: {
    ...common,
    id: 'platforms.update',
    method: 'PUT',
    path: '/project/platforms/web/:platformId',
    summary: 'Changes name and host name of a platform.',
    scopes: ['platforms.write'],
    params,
    body: z.object({ name: displayName, hostname }),
    status: 200,
    reply: json(platformShape),
    errors: ['platform_not_found', 'platform_already_exists'],
  },
  delete: {
    ...common,
    id: 'platforms.delete',
    method: 'DELETE',
    path: '/project/platforms/:platformId',
    summary: 'Removes a platform.',
    scopes: ['platforms.write'],
    params,
    status: 204,
    reply: empty,
    errors: ['platform_not_found'],
  },
});
