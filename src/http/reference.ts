import { readdir, readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Asset } from '#src/contract/asset.js';
import type { HtmlPage } from '#src/contract/browser.js';
import { asset, declare, page } from '#src/contract/declaration.js';
import { Failure } from '#src/contract/errors.js';
import { credentialHeaders } from '#src/contract/headers.js';
import { implement, type Operation, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { isReferenceOn, type Projects } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { packageFile } from '#src/platform/runtime/package-root.js';

const common = { tag: 'operations', method: 'GET', access: { project: false, auth: ['guest'] } } as const;

const referenceApi = declare({
  reference: {
    ...common,
    id: 'operations.reference',
    path: '/docs',
    summary: 'The page that shows this description, for projects with `api.reference`.',
    limits: { calls: 'none' },
    input: { query: z.object({ project: z.string().max(36).default('') }) },
    reply: { status: 200, shape: page, errors: ['project_not_found', 'general_route_not_found'] },
  },
  asset: {
    ...common,
    id: 'operations.referenceAsset',
    path: '/docs/assets/:name',
    summary: 'A script, style or font of the pages for developers.',
    limits: { calls: 'operations' },
    input: { params: z.object({ name: z.string().max(100) }) },
    reply: { status: 200, shape: asset, cacheSeconds: 31_536_000, errors: ['general_route_not_found'] },
  },
});

interface View {
  readonly heading: string;
  readonly path: string;
  readonly script: string;
  readonly style: string;
  /** A script that is not bundled with the other one. */
  readonly viewer?: string;
}

/** The pages with their files. */
const views: Readonly<Record<'api' | 'graphql', View>> = {
  api: {
    heading: 'API reference',
    path: 'docs',
    script: 'reference.js',
    style: 'reference.css',
    viewer: 'scalar.js',
  },
  graphql: { heading: 'GraphQL', path: 'graphql', script: 'graphql.js', style: 'graphql.css' },
};

/**
 * Pages for developers to read the reference and run calls in the browser, made with Scalar and GraphiQL. They call the service like any
 * client and load nothing from other hosts.
 */
export function createReference({ config, pages }: Pick<Runtime, 'config' | 'pages'>, projects: Projects): Reference {
  const names = credentialHeaders([]);
  const files = createViewerFiles();
  const requireOn = async ({ id, settings }: Project, heading: string, request: RequestFacts): Promise<void> => {
    if (isReferenceOn(settings, config)) return;
    if (request.prefersPage()) request.browser.showErrorAs(await pages.render('reference/off', { heading, id }));
    throw new Failure('general_route_not_found');
  };
  const show = async (project: Project, name: keyof typeof views, request: RequestFacts): Promise<HtmlPage> => {
    const { heading, viewer, script, style } = views[name];
    await requireOn(project, heading, request);
    const other = views[name === 'api' ? 'graphql' : 'api'];
    const values = {
      heading,
      project: project.name,
      projectId: project.id,
      projectHeader: names.project[0] ?? '',
      keyHeader: names.key[0] ?? '',
      other: `${other.path}?${new URLSearchParams({ project: project.id })}`,
      otherHeading: other.heading,
      style: await files.nameOf(style),
      script: await files.nameOf(script),
      viewer: viewer === undefined ? '' : await files.nameOf(viewer),
    };
    return pages.render('reference/viewer', values, { hasViewer: true });
  };
  return {
    operations: implement(referenceApi, {
      reference: async ({ query, request }) => show(await projects.current(query.project), 'api', request),
      asset: async ({ params }) => {
        const found = await files.find(params.name);
        if (found === undefined) throw new Failure('general_route_not_found');
        return found;
      },
    }),
    graphqlPage: (project, request) => show(project, 'graphql', request),
  };
}

/** The pages for developers. The API page is an operation; the GraphQL page is served to browsers by the GraphQL endpoint. */
interface Reference {
  readonly operations: readonly Operation[];
  /** Throws Failure if the project does not have it. */
  graphqlPage(project: Project, request: RequestFacts): Promise<HtmlPage>;
}

/** Media types by extension. */
const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ttf: 'font/ttf',
};

/** The scripts, styles and fonts of the viewers, which the build writes to `dist/viewers`. */
interface ViewerFiles {
  /** Returns the published name of a file, which contains a hash of its content. */
  nameOf(file: string): Promise<string>;
  /** Returns the file with this published name; undefined if there is none. */
  find(name: string): Promise<Asset | undefined>;
}

/** Opens the files of the viewers. The first call lists them. */
function createViewerFiles(): ViewerFiles {
  const directory = lazy(async () => {
    const files = await readdir(packageFile('dist/viewers'));
    const published = files.filter((file) => file.endsWith('.gz')).map((file) => file.slice(0, -'.gz'.length));
    return new Map(published.map((name) => [name.replace(/-[0-9a-f]{12}(?=\.)/, ''), name]));
  });
  return {
    nameOf: async (file) => {
      const name = (await directory.get()).get(file);
      if (name === undefined) throw new Error(`the build has no viewer file ${file}`);
      return name;
    },
    find: async (name) => {
      const type = types[name.slice(name.lastIndexOf('.') + 1)];
      if (type === undefined || ![...(await directory.get()).values()].includes(name)) return undefined;
      return { type, gzip: await readFile(packageFile(`dist/viewers/${name}.gz`)) };
    },
  };
}
