import { credentialHeaders } from '#src/contract/headers.js';
import { secretLife } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Courier } from '../../courier/index.js';
import type { Limits } from '../../limits/index.js';
import { type OneTimeSecrets, redemptionLink } from '../../one-time-secrets/index.js';
import type { Projects } from '../../projects/index.js';
import { phrase } from '../phrase.js';
import { createLoginRequest } from '../request.js';
import { magicUrlApi } from './api.js';

/** Login by a link that is mailed. Following the link changes nothing: mail scanners do that too, so a page has to post the secret. */
export function createMagicUrlLogin(
  platform: Pick<Platform, 'db' | 'random' | 'config' | 'pages'>,
  doors: { accounts: Accounts; limits: Limits; secrets: OneTimeSecrets; courier: Courier; projects: Projects },
) {
  const { random, config, pages } = platform;
  const { courier, projects } = doors;
  const request = createLoginRequest(platform, doors);
  const ownPage = new URL(`${config.baseUrl.replace(/\/$/, '')}${magicUrlApi.page.path}`);
  const operations = implement(magicUrlApi, {
    request: async (call) => {
      const { project, body } = call;
      const words = body.phrase ? phrase(random) : '';
      const address = body.url === '' ? ownPage : projects.demandOwnUrl(project, body.url);
      return request(call, {
        purpose: 'magic-link',
        form: 'link',
        lifeSeconds: secretLife.magicLink,
        contact: 'email',
        recipient: body.email,
        phrase: words,
        send: (unit, addressee, issued) => {
          const variables = { link: redemptionLink(address, project, issued), phrase: words };
          courier.send(unit, project, { ...addressee, message: 'magic-link', variables });
        },
      });
    },
    page: async ({ query }) => {
      const { name } = await projects.current(query.project);
      return pages.render('magic-url', { project: name, projectHeader: credentialHeaders([]).project[0] ?? '' });
    },
  });
  return { operations };
}
