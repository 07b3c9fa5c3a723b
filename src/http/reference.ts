import { z } from 'zod';
import type { HtmlPage } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { credentialHeaders } from '#src/contract/headers.js';
import { declare, implement, type Operation, page } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Projects } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';

const referenceApi = declare({
  reference: {
    id: 'operations.reference',
    tag: 'operations',
    method: 'GET',
    path: '/docs',
    summary: 'The page that shows this description, for projects with `api.reference`.',
    project: false,
    auth: ['guest'],
    limit: 'none',
    query: z.object({ project: z.string().max(36).default('') }),
    status: 200,
    reply: page,
    errors: ['project_not_found', 'general_route_not_found'],
  },
});

const headings = { api: 'API reference', graphql: 'GraphQL' } as const;

/**
 * Pages for developers to read the reference and run calls in the browser. They call the service like any client and run only their own
 * scripts. A project must enable them in its settings.
 */
export function createReference({ pages }: Pick<Runtime, 'pages'>, projects: Projects): Reference {
  const names = credentialHeaders([]);
  const show = async (project: Project, name: keyof typeof headings): Promise<HtmlPage> => {
    if (!project.settings['api.reference']) throw new Failure('general_route_not_found');
    const query = new URLSearchParams({ project: project.id });
    const other = name === 'api' ? 'graphql' : 'api';
    const values = {
      heading: headings[name],
      project: project.name,
      projectId: project.id,
      projectHeader: names.project[0] ?? '',
      keyHeader: names.key[0] ?? '',
      other: `${other === 'api' ? 'docs' : 'graphql'}?${query}`,
      otherHeading: headings[other],
    };
    return pages.render(`reference/${name}`, values, { layout: 'reference/layout' });
  };
  return {
    operations: implement(referenceApi, {
      reference: async ({ query }) => show(await projects.current(query.project), 'api'),
    }),
    graphqlPage: (project) => show(project, 'graphql'),
  };
}

/** The pages for developers. The API page is an operation; the GraphQL page is served to browsers by the GraphQL endpoint. */
interface Reference {
  readonly operations: readonly Operation[];
  /** Throws Failure if the project has not enabled it. */
  graphqlPage(project: Project): Promise<HtmlPage>;
}
