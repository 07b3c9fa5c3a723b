import type { HtmlPage } from '#src/contract/browser.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import type { AccountShown } from './account-parts.js';
import type { Logos } from './branding/logos.js';
import type { PageName } from './places.js';
import type { Refusal } from './problem.js';
import { createPageView, type PageQuery } from './view.js';

interface Deps {
  readonly projects: Projects;
  readonly providers: Providers;
  readonly logos: Logos;
}

/** Shows a page, or the form on it again after a refusal. Throws Failure for an unknown project and for a `success` on no platform. */
export type ShowPage = (
  name: PageName,
  query: PageQuery,
  locale: string | null,
  further?: { readonly refusal?: Refusal; readonly account?: AccountShown | undefined },
) => Promise<HtmlPage>;

/** Pages that offer the identity providers of the project. */
const entrances: readonly PageName[] = ['sign-in', 'sign-up'];

/** Creates the function that shows the pages. */
export function createViews(
  runtime: Pick<Runtime, 'db' | 'pages' | 'config'>,
  { projects, providers, logos }: Deps,
): ShowPage {
  const { db } = runtime;
  const show = createPageView(runtime);
  return async (name, query, locale, { refusal, account } = {}) => {
    const project = await projects.current(query.project);
    const success = query.success === '' ? undefined : projects.requireOwnUrl(project, query.success, 'success');
    const offered = entrances.includes(name) ? await providers.offered(db, project) : [];
    const logo = await logos.versionOf(db, project);
    return show({ name, project, query, locale, success, providers: offered, logo, refusal, account });
  };
}
