import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { bodySizes, userLimits } from '#src/contract/limits.js';
import { customId, displayName, newId, visibleText } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/index.js';
import { targetShape } from '../../users/index.js';

const common = { tag: 'users', limits: { calls: 'data', bodyBytes: bodySizes.account } } as const;
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
    access: serverKeys('users.read'),
    input: { params, query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), targets: z.array(targetShape) }).meta({ id: 'TargetList' })),
      bound: 'budget',
      errors: ['user_not_found', 'general_cursor_not_found'],
    },
  },
  create: {
    ...common,
    id: 'users.createTarget',
    method: 'POST',
    path: targets,
    summary: 'Adds a target to a user.',
    access: serverKeys('users.write'),
    input: {
      params,
      body: z.object({
        targetId: newId,
        providerType: z.enum(['email', 'sms', 'push']),
        identifier,
        providerId: optional(customId),
        name: optional(displayName),
      }),
    },
    reply: { status: 201, shape: json(targetShape), errors: ['user_not_found', 'user_target_already_exists'] },
  },
  get: {
    ...common,
    id: 'users.getTarget',
    method: 'GET',
    path: `${targets}/:targetId`,
    summary: 'Reads a target of a user.',
    access: serverKeys('users.read'),
    input: { params: ofTarget },
    reply: { status: 200, shape: json(targetShape), errors },
  },
  update: {
    ...common,
    id: 'users.updateTarget',
    method: 'PATCH',
    path: `${targets}/:targetId`,
    summary: 'Changes a target of a user; what is not given stays.',
    access: serverKeys('users.write'),
    input: {
      params: ofTarget,
      body: z.object({
        identifier: optional(identifier),
        providerId: optional(customId),
        name: optional(displayName),
      }),
    },
    reply: { status: 200, shape: json(targetShape), errors: [...errors, 'user_target_already_exists'] },
  },
  delete: {
    ...common,
    id: 'users.deleteTarget',
    method: 'DELETE',
    path: `${targets}/:targetId`,
    summary: 'Removes a target of a user.',
    access: serverKeys('users.write'),
    input: { params: ofTarget },
    reply: { status: 204, shape: empty, errors },
  },
});
