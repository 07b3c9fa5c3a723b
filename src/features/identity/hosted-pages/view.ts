import { credentialHeaders } from '#src/contract/headers.js';
import type { Page } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { Provider } from '../providers/index.js';
import type { PageTexts } from './texts/en.js';
import { textsFor } from './texts/texts.js';

/** What the address of a page says. */
export interface PageQuery {
  readonly project: string;
  readonly success: string;
  readonly error: string;
  readonly notice: string;
  readonly userId: string;
  readonly secret: string;
}

/** A page that is to be shown. */
interface Shown {
  readonly name: string;
  readonly heading: keyof PageTexts;
  readonly project: Project;
  readonly query: PageQuery;
  readonly locale: string | null;
  /** Where the user goes from here, checked already; undefined where the address names no such page. */
  readonly success: URL | undefined;
  readonly providers?: readonly Provider[];
}

/** The addresses of pages of the service. */
export function createAddresses({ config }: Pick<Runtime, 'config'>) {
  const base = config.baseUrl.replace(/\/$/, '');
  return (page: string, query: Readonly<Record<string, string>>): URL => {
    const given = Object.entries(query).filter(([, value]) => value !== '');
    return new URL(`${base}/${page}?${new URLSearchParams(given)}`);
  };
}

/** The type of the error that a form led back with. */
export function errorTypeOf(error: string): string {
  try {
    const { type } = JSON.parse(error) as { type?: unknown };
    return typeof type === 'string' ? type : 'failed';
  } catch {
    return error === '' ? '' : 'failed';
  }
}

/** Shows hosted pages; nothing of their address but the secret of a link stands in them. */
export function createPageView({ pages, config }: Pick<Runtime, 'pages' | 'config'>) {
  const addressOf = createAddresses({ config });
  const projectHeader = credentialHeaders([]).project[0] ?? '';

  return async ({ name, heading, project, query, locale, success, providers = [] }: Shown): Promise<Page> => {
    const { language, texts } = textsFor(locale);
    const kept = { project: project.id, success: success?.href ?? '' };
    const own = { ...kept, userId: query.userId, secret: query.secret };
    // A form that is refused leads back to its page, with what the page needs.
    const failure = addressOf(`auth/${name}`, ['code', 'reset', 'verify', 'link'].includes(name) ? own : kept);
    const type = errorTypeOf(query.error);
    const problem = Object.hasOwn(texts, type) ? texts[type as keyof PageTexts] : texts.failed;
    const values = {
      ...texts,
      language,
      project: project.name,
      projectId: project.id,
      projectHeader,
      heading: texts[heading],
      error: type === '' || type === 'user_more_factors_required' ? '' : problem,
      notice: query.notice === '' ? '' : texts[query.notice as keyof PageTexts],
      link: addressOf('', kept).searchParams.toString(),
      query: addressOf('', { ...kept, failure: failure.href }).searchParams.toString(),
      successPage: (success ?? addressOf('auth/done', kept)).href,
      failurePage: failure.href,
      userId: query.userId,
      secret: query.secret,
    };
    const links = providers.map((provider) => {
      const path = `account/sessions/${provider.kind === 'saml' ? 'saml' : 'oauth2'}/${provider.key}`;
      const href = addressOf(path, { project: project.id, success: values.successPage, failure: failure.href }).href;
      return pages.fragment('hosted/provider', { href, text: `${texts.withProvider} ${provider.name}` });
    });
    return pages.render(`hosted/${name}`, values, {
      layout: 'hosted/layout',
      fragments: { providers: (await Promise.all(links)).join('') },
      formTargets: success === undefined ? [] : [success.origin],
    });
  };
}
