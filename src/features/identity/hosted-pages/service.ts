import type { RequestFacts } from '#src/contract/operation.js';
import { addressBelow } from '#src/contract/web-address.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import type { Logos } from './branding/logos.js';
import type { PageTexts } from './texts/en.js';
import { createPageView, errorTypeOf, type PageQuery } from './view.js';

interface Deps {
  readonly projects: Projects;
  readonly providers: Providers;
  readonly logos: Logos;
}

type Visit = { readonly query: PageQuery; readonly request: RequestFacts };

/** Creates the handlers that show the pages. */
export function createViews(runtime: Pick<Runtime, 'db' | 'pages' | 'config'>, { projects, providers, logos }: Deps) {
  const { db } = runtime;
  const show = createPageView(runtime);

  const page =
    (name: string, heading: keyof PageTexts) =>
    async ({ query, request }: Visit) => {
      const project = await projects.current(query.project);
      const success = query.success === '' ? undefined : projects.requireOwnUrl(project, query.success, 'success');
      const offered = name === 'sign-in' ? await providers.offered(db, project) : [];
      const logo = await logos.versionOf(db, project);
      return show({ name, heading, project, query, locale: request.locale, success, providers: offered, logo });
    };
  const secondFactorPage = page('second-factor', 'second-factor');
  /** Pages that the browser returns to if a login lacks its second factor. */
  const afterFirstFactor = (name: string, heading: keyof PageTexts) => {
    const itself = page(name, heading);
    return (call: Visit) =>
      errorTypeOf(call.query.error) === 'user_more_factors_required' ? secondFactorPage(call) : itself(call);
  };
  const invitation = page('invitation', 'invitation');
  /** If a login by invitation lacks its second factor, the browser returns to the invitation afterwards, which is not accepted yet. */
  const invitationPage = (call: Visit) => {
    const { error, project, success, userId, secret, teamId, membershipId } = call.query;
    if (errorTypeOf(error) !== 'user_more_factors_required') return invitation(call);
    const itself = { project, success, userId, secret, teamId, membershipId };
    const { href } = addressBelow(runtime.config.baseUrl, 'auth/invitation', itself);
    return secondFactorPage({ ...call, query: { ...call.query, success: href } });
  };

  return {
    signInPage: afterFirstFactor('sign-in', 'sign-in'),
    signUpPage: page('sign-up', 'sign-up'),
    emailPage: page('email', 'email-page'),
    phonePage: page('phone', 'phone-page'),
    codePage: afterFirstFactor('code', 'code-page'),
    linkPage: afterFirstFactor('link', 'link-page'),
    secondFactorPage,
    recoveryPage: page('recovery', 'recovery'),
    resetPage: page('reset', 'reset'),
    verifyPage: page('verify', 'verify'),
    removeAddressPage: page('remove-address', 'remove-address'),
    donePage: page('done', 'done'),
    invitationPage,
    failedPage: afterFirstFactor('failed', 'failed-page'),
    signOutPage: page('sign-out', 'sign-out'),
    verifiedPage: page('verified', 'verified'),
  };
}
