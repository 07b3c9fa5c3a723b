import { z } from 'zod';
import type { HtmlPage } from '#src/contract/browser.js';
import { declare, pageOr } from '#src/contract/declaration.js';
import { Failure } from '#src/contract/errors.js';
import { implement, type Operation } from '#src/contract/operation.js';
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
    access: { project: false, auth: ['guest'] },
    limits: { calls: 'none' },
    reply: {
      status: 200,
      shape: pageOr(
        z.object({
          name: z.literal('svc'),
          version: z.string(),
          endpoint: z.string().meta({ description: 'The address that clients are configured with' }),
          hasProject: z.boolean(),
        }),
      ),
      errors: ['general_route_not_found'],
    },
  },
});

/** Projects that the page lists at most. */
const mostListed = 10;

interface Deps extends Pick<Runtime, 'config' | 'db' | 'pages' | 'mailer'> {
  readonly projects: Projects;
}

/**
 * Serves the root of the service: shows that it runs, and the next steps. While the service is on localhost, it lists the projects with
 * their pages. Elsewhere everybody can open it, so it contains no private data.
 */
export function createStartPage(runtime: Omit<Deps, 'projects'>, projects: Projects): readonly Operation[] {
  const { config, db } = runtime;
  const deps: Deps = { ...runtime, projects };
  const endpoint = config.baseUrl.replace(/\/$/, '');
  return implement(startApi, {
    start: async ({ request }) => {
      if (!config.startPage) throw new Failure('general_route_not_found');
      const facts = { version: version(), endpoint, hasProject: await projects.any(db) };
      return request.prefersPage() ? show(deps, facts) : { name: 'svc' as const, ...facts };
    },
  });
}

async function show(
  { config, db, pages, mailer, projects }: Deps,
  { version, endpoint, hasProject }: { version: string; endpoint: string; hasProject: boolean },
): Promise<HtmlPage> {
  const shownIf = (isOn: boolean) => (isOn ? 'yes' : '');
  const isLocal = isOnLocalhost(endpoint);
  const listed = isLocal ? (await projects.list(db)).slice(0, mostListed) : [];
  const rows = listed.map(({ id, name, settings }) =>
    pages.fragment('start/project', { id, name, endpoint, reference: shownIf(isReferenceOn(settings, config)) }),
  );
  const values = {
    version,
    endpoint,
    none: shownIf(!hasProject),
    some: shownIf(hasProject),
    hasList: shownIf(listed.length > 0),
    example: listed[0]?.id ?? 'PROJECT',
    mailbox: shownIf(isLocal && !mailer.isConfigured),
    remote: shownIf(!isLocal && hasProject),
  };
  return pages.render('start', values, { fragments: { projects: (await Promise.all(rows)).join('\n') } });
}
