import { z } from 'zod';
import { declare, json } from '#src/contract/declaration.js';
import { signingKeyLife } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import { discoveryShape, jwksShape } from './view.js';

const common = {
  tag: 'operations',
  method: 'GET',
  access: { auth: ['guest', 'user', 'key'] },
  limits: { calls: 'none' },
} as const;
const inPath = {
  ...common,
  tag: 'projects',
  access: { ...common.access, project: 'path' },
  input: { params: z.object({ projectId: customId }) },
} as const;
const reply = { status: 200, cacheSeconds: signingKeyLife.cacheSeconds, errors: [] } as const;
const keys = {
  summary: 'The public keys of the project, by which anybody verifies its RS256 JWTs.',
  reply: { ...reply, shape: json(jwksShape), bound: { entries: 100, bytes: 2048 } },
} as const;
const discovery = {
  summary: 'Issuer and address of the public keys, as OpenID Connect libraries look for them.',
  reply: { ...reply, shape: json(discoveryShape) },
} as const;

/** Documents that others need to verify JWTs, each at two URLs: one uses the project header, the other is the path where libraries look. */
export const signingKeysApi = declare({
  keys: {
    ...common,
    ...keys,
    id: 'operations.keys',
    path: '/keys',
    atRoot: true,
  },
  discovery: {
    ...common,
    ...discovery,
    id: 'operations.discovery',
    path: '/openid-configuration',
    atRoot: true,
  },
  wellKnownKeys: {
    ...inPath,
    ...keys,
    id: 'projects.keys',
    path: '/projects/:projectId/.well-known/jwks.json',
  },
  wellKnownDiscovery: {
    ...inPath,
    ...discovery,
    id: 'projects.discovery',
    path: '/projects/:projectId/.well-known/openid-configuration',
  },
});
