import { z } from 'zod';
import { declare, redirect, redirectOr, textReply } from '#src/contract/declaration.js';
import { bodySizes, providerLimits } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import { sessionShape } from '../../sessions/index.js';
import { applicationPage, externalErrors } from '../method/declarations.js';

const project = z.string().max(36).default('');
const common = { tag: 'account', input: { params: z.object({ provider: customId }) } } as const;

/** Login with an identity provider that supports SAML 2.0. */
export const samlApi = declare({
  start: {
    ...common,
    id: 'account.createSamlSession',
    method: 'GET',
    path: '/account/sessions/saml/:provider',
    summary:
      'Leads the browser to a SAML provider; it comes back with a session. With a session of the browser the identity is added to its account.',
    access: { auth: ['guest', 'user'], login: 'login.saml', jwt: false },
    limits: { calls: 'external-start' },
    input: {
      ...common.input,
      query: z.object({ project, success: applicationPage, failure: applicationPage }),
    },
    reply: {
      status: 302,
      shape: redirect,
      orPage: true,
      errors: ['project_provider_disabled', 'user_challenge_required'],
    },
  },
  metadata: {
    ...common,
    id: 'account.getSamlMetadata',
    method: 'GET',
    path: '/account/sessions/saml/:provider/metadata',
    summary: 'The metadata of the service that the SAML provider is configured with.',
    access: { project: 'path', auth: ['guest'] },
    limits: { calls: 'none' },
    input: { ...common.input, query: z.object({ project }) },
    reply: {
      status: 200,
      shape: textReply('application/samlmetadata+xml; charset=utf-8'),
      errors: ['project_provider_disabled'],
    },
  },
  complete: {
    ...common,
    id: 'account.completeSaml',
    method: 'POST',
    path: '/account/sessions/saml/:provider/acs',
    summary: 'The assertion consumer service: the address to which the SAML provider posts its response.',
    access: { project: 'callback', auth: ['guest'], login: 'login.saml' },
    limits: { calls: 'external-callback', bodyBytes: bodySizes.saml },
    input: {
      ...common.input,
      query: z.object({ project }),
      body: z.object({ SAMLResponse: z.string().min(1), RelayState: z.string().max(providerLimits.url).default('') }),
      form: true,
    },
    reply: {
      status: 302,
      shape: redirectOr(201, sessionShape),
      errors: [...externalErrors, 'user_saml_response_invalid', 'user_saml_unauthorized'],
    },
  },
});
