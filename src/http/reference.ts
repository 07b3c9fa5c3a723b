import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { credentialHeaders } from '#src/contract/headers.js';
import { declare, implement, type Operation, type Page, page } from '#src/contract/operation.js';
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
 * Pages for developers, which are read and run in the browser: they call the service as any client does, and nothing but their own scripts runs
 * on them. A project that has not switched them on has none.
 */
export function createReference({ pages }: Pick<Runtime, 'pages'>, projects: Projects): Reference {
  const names = credentialHeaders([]);
  const show = async (project: Project, name: keyof typeof headings): Promise<Page> => {
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

/** The pages for developers: that of the API as an operation, and that of GraphQL, which its endpoint answers browsers with. */
interface Reference {
  readonly operations: readonly Operation[];
  /** Throws Failure where the project has not switched it on. */
  graphqlPage(project: Project): Promise<Page>;
}
