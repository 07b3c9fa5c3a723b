import { z } from 'zod';
import { declare, redirect, redirectOr } from '#src/contract/declaration.js';
import { bodySizes, providerLimits } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import { tokenShape } from '../../one-time-secrets/index.js';
import { sessionShape } from '../../sessions/index.js';
import { applicationPage, externalErrors } from '../method/declarations.js';
import { scopeText } from './providers/config.js';

const start = {
  tag: 'account',
  method: 'GET',
  access: { jwt: false },
  limits: { calls: 'external-start' },
  input: {
    params: z.object({ provider: customId }),
    query: z.object({
      project: z.string().max(36).default(''),
      success: applicationPage,
      failure: applicationPage,
      scopes: z.array(scopeText).max(providerLimits.scopes).default([]),
    }),
  },
  reply: {
    status: 302,
    shape: redirect,
    errors: ['project_provider_disabled', 'user_challenge_required', 'user_oauth2_provider_error'],
  },
} as const;

const text = z.string().max(providerLimits.url).optional();
const returned = z.object({
  state: text,
  code: z.string().max(providerLimits.code).optional(),
  iss: text,
  error: text,
  user: text,
});
const callback = {
  tag: 'account',
  path: '/account/sessions/oauth2/callback/:provider/:projectId',
  access: { project: 'callback', auth: ['guest'] },
  limits: { calls: 'external-callback' },
  input: { params: z.object({ provider: customId, projectId: customId }) },
  reply: {
    status: 302,
    shape: redirectOr(201, z.union([sessionShape, tokenShape])),
    errors: [...externalErrors, 'user_oauth2_bad_request', 'user_oauth2_provider_error', 'user_oauth2_unauthorized'],
  },
} as const;

/** Login with an identity provider that supports OAuth2 or OpenID Connect. */
export const oauth2Api = declare({
  startSession: {
    ...start,
    id: 'account.createOAuth2Session',
    path: '/account/sessions/oauth2/:provider',
    summary:
      'Leads the browser to a login provider; it comes back with a session. With a session of the browser the identity is added to its account.',
    access: { ...start.access, auth: ['guest', 'user'], login: 'login.oauth2' },
  },
  startToken: {
    ...start,
    id: 'account.createOAuth2Token',
    path: '/account/tokens/oauth2/:provider',
    summary:
      'Leads the browser to a login provider; the page `success` gets userId and secret, which POST /account/sessions/token redeems.',
    access: { ...start.access, auth: ['guest', 'user', 'key'], scopes: ['sessions.write'], login: 'login.oauth2' },
  },
  callback: {
    ...callback,
    id: 'account.completeOAuth2',
    method: 'GET',
    summary: 'The address to which login providers send browsers back.',
    access: { ...callback.access, login: 'login.oauth2' },
    input: { ...callback.input, query: returned },
  },
  postedCallback: {
    ...callback,
    id: 'account.completePostedOAuth2',
    method: 'POST',
    summary: 'The same for login providers that post a form (OAuth 2.0 Form Post Response Mode).',
    access: { ...callback.access, login: 'login.oauth2' },
    limits: { ...callback.limits, bodyBytes: bodySizes.account },
    input: { ...callback.input, body: returned, form: true },
  },
});
