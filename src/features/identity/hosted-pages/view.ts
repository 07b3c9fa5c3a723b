import { credentialHeaders } from '#src/contract/headers.js';
import type { HtmlPage } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { addressBelow } from '#src/contract/web-address.js';
import type { Runtime } from '#src/platform/index.js';
import { readJson } from '#src/platform/text/json.js';
import type { OfferedProvider } from '../providers/index.js';
import { paletteOf } from './branding/palette.js';
import type { PageTexts } from './texts/en.js';
import { textsFor } from './texts/texts.js';

/** Query parameters of a page. */
export interface PageQuery {
  readonly project: string;
  readonly success: string;
  readonly error: string;
  readonly notice: string;
  readonly by: 'email' | 'phone';
  readonly userId: string;
  readonly secret: string;
  readonly challengeId: string;
  readonly teamId: string;
  readonly membershipId: string;
}

/** Input to render a page. */
interface Shown {
  readonly name: string;
  readonly heading: keyof PageTexts;
  readonly project: Project;
  readonly query: PageQuery;
  readonly locale: string | null;
  /** The next page for the user, already checked; undefined if the URL names none. */
  readonly success: URL | undefined;
  readonly providers: readonly OfferedProvider[];
  /** The version of the logo, if any. */
  readonly logo: string | undefined;
}

/** The type of the error in the URL that a form redirected to. */
export function errorTypeOf(error: string): string {
  try {
    const { type } = readJson(error) as { type?: unknown };
    return typeof type === 'string' ? type : 'failed';
  } catch {
    return error === '' ? '' : 'failed';
  }
}

/** Parameters that each page gets back if its form is refused. */
const neededBy: Readonly<Record<string, readonly Exclude<keyof PageQuery, 'project' | 'success' | 'error'>[]>> = {
  code: ['userId', 'by'],
  link: ['userId', 'secret'],
  reset: ['userId', 'secret'],
  verify: ['userId', 'secret'],
  'remove-address': ['userId', 'secret'],
  'second-factor': ['challengeId'],
  invitation: ['userId', 'secret', 'teamId', 'membershipId'],
};
/** Pages that users see first; they show the intro of the project. */
const entrances = ['sign-in', 'sign-up'];
/** Pages that a login at another site returns to. */
const arrivals = ['sign-in', 'failed'];

/** Renders hosted pages. They contain nothing from their URL except what their forms send on. */
export function createPageView({ pages, config }: Pick<Runtime, 'pages' | 'config'>) {
  const addressOf = (path: string, query: Readonly<Record<string, string>>) =>
    addressBelow(config.baseUrl, path, query);
  const projectHeader = credentialHeaders([]).project[0] ?? '';

  const providerLinks = async ({ project, providers }: Shown, texts: PageTexts, success: string, failure: string) => {
    const links = providers.map(({ path, name }) => {
      const { href } = addressOf(path, { project: project.id, success, failure });
      return pages.fragment('hosted/provider', { href, text: `${texts.withProvider} ${name}` });
    });
    return (await Promise.all(links)).join('');
  };

  return async (shown: Shown): Promise<HtmlPage> => {
    const { name, heading, project, query, locale, success } = shown;
    const { language, texts } = textsFor(locale);
    const kept = { project: project.id, success: success?.href ?? '' };
    const needed = Object.fromEntries((neededBy[name] ?? []).map((member) => [member, query[member]]));
    const failure = addressOf(`auth/${name}`, { ...kept, ...needed });
    const successPage = (success ?? addressOf('auth/done', kept)).href;
    const values = {
      ...texts,
      ...lookOf(shown, language),
      language,
      projectId: project.id,
      projectHeader,
      heading: texts[heading],
      newPassword: texts.newPassword.replace('{count}', String(config.passwordMinLength)),
      error: problemOf(shown, texts),
      notice: query.notice === '' ? '' : texts[query.notice as keyof PageTexts],
      link: addressOf('', kept).searchParams.toString(),
      query: addressOf('', { ...kept, failure: failure.href }).searchParams.toString(),
      successPage,
      failurePage: failure.href,
      by: query.by,
      userId: query.userId,
      secret: query.secret,
      challengeId: query.challengeId,
      teamId: query.teamId,
      membershipId: query.membershipId,
      ...waysOf(project, config.smsUrl !== undefined),
    };
    return pages.render(`hosted/${name}`, values, {
      layout: 'hosted/layout',
      fragments: { providers: await providerLinks(shown, texts, successPage, failure.href) },
      formTargets: success === undefined ? [] : [success.origin === 'null' ? success.protocol : success.origin],
    });
  };
}

/** The message for an error that a form or a login at another site has redirected with. */
function problemOf({ name, query }: Shown, texts: PageTexts): string {
  const type = errorTypeOf(query.error);
  if (type === '' || type === 'user_more_factors_required') return '';
  if (type === 'user_invalid_token' && arrivals.includes(name)) return texts.login_over;
  // Users enter nothing on the way to this page, so the invalid value is in the application's URL that began the login.
  if (type === 'general_argument_invalid' && name === 'failed') return texts.application_faulty;
  return Object.hasOwn(texts, type) ? texts[type as keyof PageTexts] : texts.failed;
}

/** Login methods that the pages offer. */
function waysOf({ settings }: Project, hasSms: boolean): Readonly<Record<string, string>> {
  const shown = (isOn: boolean) => (isOn ? 'yes' : '');
  return {
    takesPassword: shown(settings['login.password']),
    takesPasskey: shown(settings['login.passkey']),
    takesEmail: shown(settings['login.emailOtp'] || settings['login.magicUrl']),
    takesCode: shown(settings['login.emailOtp']),
    takesLink: shown(settings['login.magicUrl']),
    takesSms: shown(hasSms && settings['login.phone']),
  };
}

/** The project's branding of a page. */
function lookOf({ name, project, logo }: Shown, language: string): Readonly<Record<string, string>> {
  const { settings } = project;
  const { light, dark } = paletteOf(settings['pages.color']);
  const intros: Readonly<Record<string, string | null>> = {
    de: settings['pages.intro.de'],
    es: settings['pages.intro.es'],
  };
  const linkOf = (address: string | null) =>
    address === null ? '' : new URL(address.replaceAll('{language}', language)).href;
  return {
    project: settings['pages.name'] ?? project.name,
    logo: logo === undefined ? '' : `logo?${new URLSearchParams({ project: project.id, v: logo })}`,
    intro: entrances.includes(name) ? (intros[language] ?? settings['pages.intro'] ?? '') : '',
    terms: linkOf(settings['pages.terms']),
    privacy: linkOf(settings['pages.privacy']),
    lightText: light.text,
    lightFill: light.fill,
    lightOnFill: light.onFill,
    darkText: dark.text,
    darkFill: dark.fill,
    darkOnFill: dark.onFill,
  };
}
