import { z } from 'zod';
import { bodySizes, providerLimits } from '#src/contract/limits.js';
import { declare, redirect, redirectOr, textReply } from '#src/contract/operation.js';
import { customId } from '#src/contract/shapes.js';
import { sessionShape } from '../../sessions/index.js';
import { externalErrors } from '../method/declarations.js';

const project = z.string().max(36).default('');
const page = z
  .string()
  .max(providerLimits.url)
  .default('')
  .meta({ description: 'A page on a platform of the project; without it the answer is JSON' });
const common = { tag: 'account', params: z.object({ provider: customId }) } as const;

/** Login with an identity provider that supports SAML 2.0. */
export const samlApi = declare({
  start: {
    ...common,
    id: 'account.createSamlSession',
    login: 'login.saml',
    method: 'GET',
    path: '/account/sessions/saml/:provider',
    summary:
      'Leads the browser to a SAML provider; it comes back with a session. With a session of the browser the identity is added to its account.',
    auth: ['guest', 'user'],
    jwt: false,
    limit: 'external-start',
    query: z.object({ project, success: page, failure: page }),
    status: 302,
    reply: redirect,
    orPage: true,
    errors: ['project_provider_disabled', 'user_challenge_required'],
  },
  metadata: {
    ...common,
    id: 'account.getSamlMetadata',
    method: 'GET',
    path: '/account/sessions/saml/:provider/metadata',
    summary: 'The metadata of the service that the SAML provider is configured with.',
    project: 'path',
    auth: ['guest'],
    limit: 'none',
    query: z.object({ project }),
    status: 200,
    reply: textReply('application/samlmetadata+xml; charset=utf-8'),
    errors: ['project_provider_disabled'],
  },
  complete: {
    ...common,
    id: 'account.completeSaml',
    login: 'login.saml',
    method: 'POST',
    path: '/account/sessions/saml/:provider/acs',
    summary: 'The assertion consumer service: the address to which the SAML provider posts its response.',
    project: 'callback',
    auth: ['guest'],
    limit: 'external-callback',
    form: true,
    bodyBytes: bodySizes.saml,
    query: z.object({ project }),
    body: z.object({ SAMLResponse: z.string().min(1), RelayState: z.string().max(providerLimits.url).default('') }),
    status: 302,
    reply: redirectOr(201, sessionShape),
    errors: [...externalErrors, 'user_saml_response_invalid', 'user_saml_unauthorized'],
  },
});
