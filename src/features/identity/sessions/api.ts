import { z } from 'zod';
import { declare, empty, json } from '#src/contract/declaration.js';
import { customId } from '#src/contract/shapes.js';
import { sessionListShape, sessionShape } from './view.js';

const common = { tag: 'account', access: { auth: ['user'] }, limits: { calls: 'data' } } as const;
const params = z.object({ sessionId: customId.meta({ description: 'A session id, or current' }) });

/** The sessions of the signed-in user. */
export const sessionsApi = declare({
  list: {
    ...common,
    id: 'account.listSessions',
    method: 'GET',
    path: '/account/sessions',
    summary: 'Lists the sessions of the signed-in user.',
    reply: { status: 200, shape: json(sessionListShape), bound: { entries: 100, bytes: 4096 }, errors: [] },
  },
  get: {
    ...common,
    id: 'account.getSession',
    method: 'GET',
    path: '/account/sessions/:sessionId',
    summary: 'Reads a session.',
    input: { params },
    reply: { status: 200, shape: json(sessionShape), errors: ['user_session_not_found'] },
  },
  extend: {
    ...common,
    id: 'account.updateSession',
    method: 'PATCH',
    path: '/account/sessions/:sessionId',
    summary:
      'Gives a session a full life from now, not past `session.maxDays` from its beginning. A JWT extends its own session only.',
    input: { params },
    reply: { status: 200, shape: json(sessionShape), errors: ['user_session_not_found'] },
  },
  delete: {
    ...common,
    id: 'account.deleteSession',
    method: 'DELETE',
    path: '/account/sessions/:sessionId',
    summary: 'Ends a session; current is the one of this request. A JWT ends its own session only.',
    access: { ...common.access, pending: true },
    input: { params },
    reply: { status: 204, shape: empty, session: 'closes', errors: ['user_session_not_found'] },
  },
  deleteAll: {
    ...common,
    id: 'account.deleteSessions',
    method: 'DELETE',
    path: '/account/sessions',
    summary: 'Ends every session of the signed-in user.',
    access: { ...common.access, jwt: false },
    reply: { status: 204, shape: empty, session: 'closes', errors: [] },
  },
});
