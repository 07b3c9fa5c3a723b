import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { declare, implement, type Operation, pageOr } from '#src/contract/operation.js';
import { isReferenceOn, type Projects } from '#src/features/index.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Runtime } from '#src/platform/index.js';
import { version } from '#src/platform/runtime/version.js';

const startApi = declare({
  start: {
    id: 'operations.start',
    tag: 'operations',
    method: 'GET',
    path: '/',
    atRoot: true,
    summary: 'Says that the service runs, as a page or as JSON.',
    project: false,
    auth: ['guest'],
    limit: 'none',
    status: 200,
    reply: pageOr(
      z.object({
        name: z.literal('svc'),
        version: z.string(),
        endpoint: z.string().meta({ description: 'The address that clients are configured with' }),
        hasProject: z.boolean(),
      }),
    ),
    errors: ['general_route_not_found'],
  },
});

/** Serves the root of the service: shows that it runs, and the next commands. Contains no private data. */
export function createStartPage(
  { config, db, pages }: Pick<Runtime, 'config' | 'db' | 'pages'>,
  projects: Projects,
): readonly Operation[] {
  const ourVersion = version();
  const endpoint = config.baseUrl.replace(/\/$/, '');
  return implement(startApi, {
    start: async ({ request }) => {
      if (!config.startPage) throw new Failure('general_route_not_found');
      const hasProject = await projects.any(db);
      if (!request.prefersPage()) return { name: 'svc' as const, version: ourVersion, endpoint, hasProject };
      const [some, none] = hasProject ? ['yes', ''] : ['', 'yes'];
      // Elsewhere, the ids of projects are not shown to everybody.
      const all = isOnLocalhost(endpoint) ? await projects.list(db) : [];
      const shown = all.find(({ settings }) => isReferenceOn(settings, config))?.id ?? '';
      return pages.render('start', { version: ourVersion, endpoint, some, none, shown });
    },
  });
}
