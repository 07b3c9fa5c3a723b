import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { bodySizes, logPage, secretLife, userLimits } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/index.js';
import { logListShape } from '../../../events/index.js';
import { identityListShape } from '../../identities/index.js';
import { tokenShape } from '../../one-time-secrets/index.js';
import { sessionListShape, sessionShape } from '../../sessions/index.js';
import { jwtShape, jwtWishes } from '../../tokens/index.js';

const common = { tag: 'users', limits: { calls: 'data', bodyBytes: bodySizes.account } } as const;
const sessions = '/users/:userId/sessions';
const params = z.object({ userId: customId });
const ofSession = params.extend({ sessionId: customId });
const { total } = listParameters;

/** Sessions, tokens, logs and identities of users, for server keys. */
export const accessApi = declare({
  listSessions: {
    ...common,
    id: 'users.listSessions',
    method: 'GET',
    path: sessions,
    summary: 'Lists the sessions of a user.',
    access: serverKeys('users.read', 'sessions.read'),
    input: { params, query: z.object({ total }) },
    reply: {
      status: 200,
      shape: json(sessionListShape),
      bound: { entries: 100, bytes: 4096 },
      errors: ['user_not_found'],
    },
  },
  createSession: {
    ...common,
    id: 'users.createSession',
    method: 'POST',
    path: sessions,
    summary: 'Logs a user in; the secret of the session is in this answer only.',
    access: serverKeys('users.write', 'sessions.write'),
    input: { params },
    reply: { status: 201, shape: json(sessionShape), errors: ['user_not_found', 'user_blocked'] },
  },
  deleteSessions: {
    ...common,
    id: 'users.deleteSessions',
    method: 'DELETE',
    path: sessions,
    summary: 'Ends every session of a user.',
    access: serverKeys('users.write', 'sessions.write'),
    input: { params },
    reply: { status: 204, shape: empty, errors: ['user_not_found'] },
  },
  deleteSession: {
    ...common,
    id: 'users.deleteSession',
    method: 'DELETE',
    path: `${sessions}/:sessionId`,
    summary: 'Ends a session of a user.',
    access: serverKeys('users.write', 'sessions.write'),
    input: { params: ofSession },
    reply: { status: 204, shape: empty, errors: ['user_not_found', 'user_session_not_found'] },
  },
  createToken: {
    ...common,
    id: 'users.createToken',
    method: 'POST',
    path: '/users/:userId/tokens',
    summary: 'Makes a secret that logs the user in once; how it reaches the user is up to the caller.',
    access: serverKeys('users.write'),
    input: {
      params,
      body: z.object({
        length: z
          .int()
          .min(userLimits.tokenLeast)
          .max(userLimits.tokenMax)
          .nullish()
          .transform((length) => length ?? userLimits.tokenUsual)
          .meta({ description: 'Characters of the secret' }),
        expire: z
          .int()
          .min(userLimits.tokenLeastSeconds)
          .max(userLimits.tokenMaxSeconds)
          .nullish()
          .transform((seconds) => seconds ?? secretLife.serverToken)
          .meta({ description: 'Seconds for which it is good' }),
      }),
    },
    reply: { status: 201, shape: json(tokenShape), errors: ['user_not_found', 'user_blocked'] },
  },
  createJwt: {
    ...common,
    id: 'users.createJWT',
    method: 'POST',
    path: '/users/:userId/jwts',
    summary:
      'Makes a JWT for a user: of the session named, or of the newest. Without `recent` a user may have no session.',
    access: serverKeys('users.write'),
    input: { params, body: jwtWishes.extend({ sessionId: z.union([z.literal(''), customId]).default('') }) },
    reply: {
      status: 201,
      shape: json(jwtShape),
      errors: ['user_not_found', 'user_blocked', 'user_session_not_found', 'user_jwt_creation_denied'],
    },
  },
  listLogs: {
    ...common,
    id: 'users.listLogs',
    method: 'GET',
    path: '/users/:userId/logs',
    summary: 'Lists what a user did and what was done to the account, newest first.',
    access: serverKeys('users.read'),
    input: { params, query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(logListShape),
      bound: { entries: logPage.max, bytes: 8192 },
      errors: ['user_not_found'],
    },
  },
  listIdentities: {
    ...common,
    id: 'users.listIdentities',
    method: 'GET',
    path: '/users/identities',
    summary: 'Lists the accounts with identity providers by which users log in.',
    access: serverKeys('users.read'),
    input: { query: z.object({ ...listParameters, ...searchParameter }) },
    reply: { status: 200, shape: json(identityListShape), bound: 'budget', errors: ['general_cursor_not_found'] },
  },
  deleteIdentity: {
    ...common,
    id: 'users.deleteIdentity',
    method: 'DELETE',
    path: '/users/identities/:identityId',
    summary: 'Takes such an account away from its user and ends the sessions that were opened by it.',
    access: serverKeys('users.write'),
    input: { params: z.object({ identityId: customId }) },
    reply: { status: 204, shape: empty, errors: ['user_identity_not_found'] },
  },
});
