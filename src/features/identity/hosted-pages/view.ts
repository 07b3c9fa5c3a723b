import type { HtmlPage } from '#src/contract/browser.js';
import { credentialHeaders } from '#src/contract/headers.js';
import type { Project } from '#src/contract/project.js';
import { addressBelow } from '#src/contract/web-address.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { OfferedProvider, Providers } from '../providers/index.js';
import type { AccountShown } from './account-parts.js';
import type { Logos } from './branding/logos.js';
import { brandOf, markOf } from './brands.js';
import type { PageQuery } from './declarations.js';
import { renderFields } from './fields.js';
import { lookOf } from './look.js';
import { isEntrance, type PageName, pageHeadings } from './places.js';
import { problemOfForm, problemOfType, type Refusal } from './problem.js';
import type { PageTexts } from './texts/en.js';
import { textsFor } from './texts/texts.js';

/** Input to render a page. */
interface Shown {
  readonly name: PageName;
  readonly project: Project;
  readonly query: PageQuery;
  readonly locale: string | null;
  /** The next page for the user, already checked; undefined if the URL names none. */
  readonly success: URL | undefined;
  readonly providers: readonly OfferedProvider[];
  /** The version of the logo, if any. */
  readonly logo: string | undefined;
  readonly refusal: Refusal | undefined;
  /** Only for the pages of an account. */
  readonly account: AccountShown | undefined;
}

/** Parameters that each page gets back if its form is refused. */
const neededBy: Readonly<
  Partial<Record<PageName, readonly Exclude<keyof PageQuery, 'project' | 'success' | 'error'>[]>>
> = {
  code: ['userId', 'by'],
  link: ['userId', 'secret'],
  reset: ['userId', 'secret'],
  verify: ['userId', 'secret'],
  'remove-address': ['userId', 'secret'],
  'second-factor': ['challengeId', 'factors'],
  invitation: ['userId', 'secret', 'teamId', 'membershipId'],
};

interface Deps extends Pick<Runtime, 'db' | 'pages' | 'config'> {
  readonly projects: Projects;
  readonly providers: Providers;
  readonly logos: Logos;
}

/** Shows a page, or the form on it again after a refusal. Throws Failure for an unknown project and for a `success` on no platform. */
export type ShowPage = (
  name: PageName,
  query: PageQuery,
  locale: string | null,
  further?: Partial<Pick<Shown, 'refusal' | 'account'>>,
) => Promise<HtmlPage>;

/** Creates the function that shows the pages. They contain nothing from their URL except what their forms send on. */
export function createPageView(deps: Deps): ShowPage {
  const { db, projects, providers, logos } = deps;
  return async (name, query, locale, { refusal, account } = {}) => {
    const project = await projects.current(query.project);
    const success = query.success === '' ? undefined : projects.requireOwnUrl(project, query.success, 'success');
    const offered = isEntrance(name) ? await providers.offered(db, project) : [];
    const logo = await logos.versionOf(db, project);
    return render(deps, { name, project, query, locale, success, providers: offered, logo, refusal, account });
  };
}

async function render(deps: Deps, shown: Shown): Promise<HtmlPage> {
  const { pages, config } = deps;
  const { name, project, query, locale, success, refusal, account } = shown;
  const { language, texts } = textsFor(locale);
  const passwordLength = config.passwordMinLength;
  const problem =
    refusal === undefined
      ? problemOfType(name, query.error, texts)
      : problemOfForm(name, refusal, texts, passwordLength);
  const places = placesOf(deps, shown);
  const typed = refusal?.typed ?? account?.typed ?? {};
  const fields = await renderFields(pages, { name, texts, typed, problem, link: places.link, passwordLength });
  const hasSms = config.smsUrl !== undefined;
  const values = {
    ...texts,
    ...lookOf(name, project, shown.logo, language),
    ...places,
    language,
    projectId: project.id,
    projectHeader: credentialHeaders([]).project[0] ?? '',
    heading: texts[pageHeadings[name]],
    error: problem?.field === undefined ? (problem?.text ?? '') : '',
    notice: refusal !== undefined || query.notice === '' ? '' : texts[query.notice],
    by: query.by,
    userId: query.userId,
    secret: query.secret,
    challengeId: query.challengeId,
    teamId: query.teamId,
    membershipId: query.membershipId,
    ...waysOf(project, hasSms),
    ...factorsOf(query, hasSms, problem?.field === 'recovery'),
    appPage: success?.href ?? '',
    width: account === undefined ? '25rem' : '34rem',
    ...account?.values,
  };
  return pages.render(`hosted/${name}`, values, {
    layout: 'hosted/layout',
    fragments: {
      ...fields,
      fieldOfCode: (query.challengeId === '' ? fields.otpField : fields.sentCodeField) ?? '',
      ...account?.fragments,
      providers: await providerLinks(deps, shown, texts, places),
    },
    formTargets: success === undefined ? [] : [success.origin === 'null' ? success.protocol : success.origin],
  });
}

/** The addresses on a page: the page after a success and after an error, and the queries of links and forms. */
function placesOf({ config }: Deps, { name, project, query, success }: Shown) {
  const kept = { project: project.id, success: success?.href ?? '' };
  const needed = Object.fromEntries((neededBy[name] ?? []).map((member) => [member, query[member]]));
  const addressOf = (path: string, given: Readonly<Record<string, string>>) =>
    addressBelow(config.baseUrl, path, given);
  const failurePage = addressOf(`auth/${name}`, { ...kept, ...needed }).href;
  return {
    successPage: (success ?? addressOf('auth/done', kept)).href,
    failurePage,
    link: addressOf('', kept).searchParams.toString(),
    query: addressOf('', { ...kept, failure: failurePage }).searchParams.toString(),
  };
}

/** Links to the identity providers, and the divider between them and the form. */
async function providerLinks(
  { pages, config }: Deps,
  { project, providers }: Shown,
  texts: PageTexts,
  { successPage: success, failurePage: failure }: ReturnType<typeof placesOf>,
): Promise<string> {
  const links = providers.map(async (provider) => {
    const { href } = addressBelow(config.baseUrl, provider.path, { project: project.id, success, failure });
    const text = `${texts.withProvider} ${brandOf(provider)}`;
    return pages.fragment('hosted/provider', { href, text }, { mark: await markOf(pages, provider) });
  });
  const all = (await Promise.all(links)).join('');
  return all === '' || !project.settings['login.password'] ? all : all + (await pages.fragment('hosted/or', texts));
}

const shownIf = (isOn: boolean) => (isOn ? 'yes' : '');

/** Login methods that the pages offer. */
function waysOf({ settings }: Project, hasSms: boolean): Readonly<Record<string, string>> {
  return {
    takesPassword: shownIf(settings['login.password']),
    takesPasskey: shownIf(settings['login.passkey']),
    takesEmail: shownIf(settings['login.emailOtp'] || settings['login.magicUrl']),
    takesCode: shownIf(settings['login.emailOtp']),
    takesLink: shownIf(settings['login.magicUrl']),
    linkButton: settings['login.emailOtp'] ? '' : 'main',
    takesSms: shownIf(hasSms && settings['login.phone']),
  };
}

/** Second factors that the page offers: those of the user, or all if the address does not name them. */
function factorsOf(
  { factors, challengeId }: PageQuery,
  hasSms: boolean,
  isRecoveryOpen: boolean,
): Readonly<Record<string, string>> {
  const has = (factor: string) => factors === '' || factors.split(',').includes(factor);
  const takesOtp = challengeId !== '' || has('totp');
  return {
    takesOtp: shownIf(takesOtp),
    byEmail: shownIf(has('email')),
    bySms: shownIf(hasSms && has('phone')),
    // Without a field, sending a code is the first step.
    channelButton: takesOtp ? '' : 'main',
    takesRecovery: shownIf(has('recoverycode')),
    recoveryClosed: shownIf(has('recoverycode') && !isRecoveryOpen),
    recoveryOpen: shownIf(has('recoverycode') && isRecoveryOpen),
  };
}
