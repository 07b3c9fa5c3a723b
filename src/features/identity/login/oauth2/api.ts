import { z } from 'zod';
import { bodySizes, providerLimits } from '#src/contract/limits.js';
import { declare, redirect, redirectOr } from '#src/contract/operation.js';
import { customId } from '#src/contract/shapes.js';
import { tokenShape } from '../../one-time-secrets/index.js';
import { sessionShape } from '../../sessions/index.js';
import { externalErrors } from '../method/declarations.js';
import { scopeText } from './providers/config.js';

const page = z
  .string()
  .max(providerLimits.url)
  .default('')
  .meta({ description: 'A page on a platform of the project; without it the answer is JSON' });
const start = {
  tag: 'account',
  method: 'GET',
  jwt: false,
  limit: 'external-start',
  params: z.object({ provider: customId }),
  query: z.object({
    project: z.string().max(36).default(''),
    success: page,
    failure: page,
    scopes: z.array(scopeText).max(providerLimits.scopes).default([]),
  }),
  status: 302,
  reply: redirect,
  errors: ['project_provider_disabled', 'user_challenge_required', 'user_oauth2_provider_error'],
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
  project: 'callback',
  auth: ['guest'],
  limit: 'external-callback',
  path: '/account/sessions/oauth2/callback/:provider/:projectId',
  params: z.object({ provider: customId, projectId: customId }),
  status: 302,
  reply: redirectOr(201, z.union([sessionShape, tokenShape])),
  errors: [...externalErrors, 'user_oauth2_bad_request', 'user_oauth2_provider_error', 'user_oauth2_unauthorized'],
} as const;

/** Login with an identity provider that supports OAuth2 or OpenID Connect. */
export const oauth2Api = declare({
  startSession: {
    ...start,
    id: 'account.createOAuth2Session',
    login: 'login.oauth2',
    path: '/account/sessions/oauth2/:provider',
    summary:
      'Leads the browser to a login provider; it comes back with a session. With a session of the browser the identity is added to its account.',
    auth: ['guest', 'user'],
  },
  startToken: {
    ...start,
    id: 'account.createOAuth2Token',
    login: 'login.oauth2',
    path: '/account/tokens/oauth2/:provider',
    summary:
      'Leads the browser to a login provider; the page `success` gets userId and secret, which POST /account/sessions/token redeems.',
    auth: ['guest', 'user', 'key'],
    scopes: ['sessions.write'],
  },
  callback: {
    ...callback,
    id: 'account.completeOAuth2',
    login: 'login.oauth2',
    method: 'GET',
    summary: 'The address to which login providers send browsers back.',
    query: returned,
  },
  postedCallback: {
    ...callback,
    id: 'account.completePostedOAuth2',
    login: 'login.oauth2',
    method: 'POST',
    summary: 'The same for login providers that post a form (OAuth 2.0 Form Post Response Mode).',
    form: true,
    bodyBytes: bodySizes.account,
    body: returned,
  },
});
