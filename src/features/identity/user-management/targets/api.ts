import { z } from 'zod';
import { bodySizes, userLimits } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId, displayName, newId, visibleText } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/index.js';
import { targetShape } from '../../users/index.js';

const common = { tag: 'users', auth: ['key'], limit: 'data', bodyBytes: bodySizes.account } as const;
const targets = '/users/:userId/targets';
const params = z.object({ userId: customId });
const ofTarget = params.extend({ targetId: customId });
const errors = ['user_not_found', 'user_target_not_found'] as const;
const identifier = visibleText(userLimits.targetIdentifier)
  .min(1)
  .meta({ description: 'An email address, a phone number, or the token of a device' });
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/** Targets at which users can be reached, for server keys. */
export const targetsApi = declare({
  list: {
    ...common,
    id: 'users.listTargets',
    method: 'GET',
    path: targets,
    summary: 'Lists the targets of a user.',
    scopes: ['users.read'],
    params,
    query: z.object(listParameters),
    status: 200,
    reply: json(z.object({ total: z.int(), targets: z.array(targetShape) }).meta({ id: 'TargetList' })),
    bound: 'room',
    errors: ['user_not_found', 'general_cursor_not_found'],
  },
  create: {
    ...common,
    id: 'users.createTarget',
    method: 'POST',
    path: targets,
    summary: 'Adds a target to a user.',
    scopes: ['users.write'],
    params,
    body: z.object({
      targetId: newId,
      providerType: z.enum(['email', 'sms', 'push']),
      identifier,
      providerId: optional(customId),
      name: optional(displayName),
    }),
    status: 201,
    reply: json(targetShape),
    errors: ['user_not_found', 'user_target_already_exists'],
  },
  get: {
    ...common,
    id: 'users.getTarget',
    method: 'GET',
    path: `${targets}/:targetId`,
    summary: 'Reads a target of a user.',
    scopes: ['users.read'],
    params: ofTarget,
    status: 200,
    reply: json(targetShape),
    errors,
  },
  update: {
    ...common,
    id: 'users.updateTarget',
    method: 'PATCH',
    path: `${targets}/:targetId`,
    summary: 'Changes a target of a user; what is not given stays.',
    scopes: ['users.write'],
    params: ofTarget,
    body: z.object({
      identifier: optional(identifier),
      providerId: optional(customId),
      name: optional(displayName),
    }),
    status: 200,
    reply: json(targetShape),
    errors: [...errors, 'user_target_already_exists'],
  },
  delete: {
    ...common,
    id: 'users.deleteTarget',
    method: 'DELETE',
    path: `${targets}/:targetId`,
    summary: 'Removes a target of a user.',
    scopes: ['users.write'],
    params: ofTarget,
    status: 204,
    reply: empty,
    errors,
  },
});
