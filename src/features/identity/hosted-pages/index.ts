import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { implement, type Operation } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Projects } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import { createAccountPages } from './account.js';
import { createAccountViews } from './account-view.js';
import { hostedPagesApi } from './api.js';
import { createLogos } from './branding/logos.js';
import {
  addressOf,
  dialled,
  type FormDeps,
  type Handled,
  open,
  run,
  type Submission,
  shownAgain,
  submit,
  successOr,
  to,
} from './forms.js';
import type { PageName } from './places.js';
import { createPageView } from './view.js';

export { hostedErrorAddress } from './places.js';

interface Services {
  readonly projects: Projects;
  readonly providers: Providers;
  /** The operations that the forms call; the same as for clients. */
  readonly operations: readonly Operation[];
}

/** Hosted login pages for applications that have none of their own. They work without scripts, except for passkeys. */
export function createHostedPages(runtime: Pick<Runtime, 'db' | 'sql' | 'pages' | 'config'>, services: Services) {
  const { db, config } = runtime;
  const { projects } = services;
  const logos = createLogos(runtime);
  const byId = new Map(services.operations.map((operation) => [operation.declaration.id, operation]));
  const show = createPageView({ ...runtime, ...services, logos });
  const accountOf = createAccountViews({ ...runtime, ...services, byId });
  const deps: FormDeps = { projects, config, byId, show, accountOf };
  const page =
    (name: PageName) =>
    ({ query, request }: Pick<Handled<'signInPage'>, 'query' | 'request'>) =>
      show(name, query, request.locale);
  const operations = implement(hostedPagesApi, {
    signInPage: page('sign-in'),
    signUpPage: page('sign-up'),
    emailPage: page('email'),
    phonePage: page('phone'),
    codePage: page('code'),
    linkPage: page('link'),
    secondFactorPage: page('second-factor'),
    recoveryPage: page('recovery'),
    resetPage: page('reset'),
    verifyPage: page('verify'),
    verifiedPage: page('verified'),
    removeAddressPage: page('remove-address'),
    donePage: page('done'),
    invitationPage: page('invitation'),
    failedPage: page('failed'),
    signOutPage: page('sign-out'),
    ...bind(deps, { signUp, sendEmail, sendSms, proveSecondFactor, sendChallenge, acceptInvitation, signOut }),
    magicUrlPage: async ({ query }) => {
      const { id: project } = await projects.current(query.project);
      return new Redirect(addressOf(deps, 'link', { ...query, project }));
    },
    logo: async ({ query }) => logos.get(db, await projects.current(query.project)),
    signIn: (call) => open(deps, call, 'account.createEmailSession', call.body),
    redeem: (call) => open(deps, call, 'account.createSession', call.body),
    recover: (call) => {
      const url = addressOf(deps, 'reset', { success: call.query.success }).href;
      return submit(deps, call, 'account.createRecovery', { email: call.body.email, url }, 'recovery', 'sent');
    },
    reset: (call) => submit(deps, call, 'account.updateRecovery', call.body, 'sign-in', 'changed'),
    verify: (call) => submit(deps, call, 'account.updateEmailVerification', call.body, 'verified'),
    removeAddress: (call) =>
      submit(deps, call, 'account.deleteEmailVerification', call.body, 'sign-in', 'addressRemoved'),
  });
  const all = [...operations, ...createAccountPages(deps)];
  return { operations: all.map((operation) => shownAgain(deps, operation)), logos };
}

async function signUp(deps: FormDeps, call: Handled<'signUp'>) {
  const { email, password } = call.body;
  await run(deps, call, 'account.create', { userId: uniqueId, ...call.body });
  // Logging in would reveal whether the address was taken.
  if (call.project.settings['signup.hideExisting']) return to(deps, call, 'sign-in', { notice: 'registered' });
  return open(deps, call, 'account.createEmailSession', { email, password });
}

async function sendEmail(deps: FormDeps, call: Handled<'sendEmail'>) {
  const { email, form } = call.body;
  const input = { userId: uniqueId, email };
  if (form === 'link') {
    const url = addressOf(deps, 'link', { success: call.query.success }).href;
    await run(deps, call, 'account.createMagicURLToken', { ...input, url });
    return to(deps, call, 'email', { notice: 'sent' });
  }
  const { userId } = await run<{ userId: string }>(deps, call, 'account.createEmailToken', input);
  return to(deps, call, 'code', { userId, notice: 'sent' });
}

async function sendSms(deps: FormDeps, call: Handled<'sendSms'>) {
  const input = { userId: uniqueId, phone: dialled(call.body.phone) };
  const { userId } = await run<{ userId: string }>(deps, call, 'account.createPhoneToken', input);
  return to(deps, call, 'code', { userId, by: 'phone', notice: 'sentSms' });
}

async function proveSecondFactor(deps: FormDeps, call: Handled<'proveSecondFactor'>) {
  const { otp, challengeId: begun } = call.body;
  const isCode = /^\d{6}$/.test(otp);
  const challengeId =
    isCode && begun !== '' ? begun : await beginChallenge(deps, call, isCode ? 'totp' : 'recoverycode');
  return open(deps, call, 'account.updateMfaChallenge', { challengeId, otp });
}

async function beginChallenge(deps: FormDeps, call: Submission, factor: string): Promise<string> {
  return (await run<{ $id: string }>(deps, call, 'account.createMfaChallenge', { factor })).$id;
}

async function sendChallenge(deps: FormDeps, call: Handled<'sendChallenge'>) {
  const challengeId = await beginChallenge(deps, call, call.body.factor);
  const { failure } = call.query;
  const factors = URL.canParse(failure) ? (new URL(failure).searchParams.get('factors') ?? '') : '';
  return to(deps, call, 'second-factor', { challengeId, factors, notice: 'sentCode' });
}

async function acceptInvitation(deps: FormDeps, call: Handled<'acceptInvitation'>) {
  const { teamId, membershipId, ...proof } = call.body;
  const joined = await run(deps, call, 'teams.updateMembershipStatus', proof, { teamId, membershipId });
  const next = successOr(deps, call, 'done', 'joined');
  return joined instanceof WithSession ? new WithSession(next, joined.session) : next;
}

async function signOut(deps: FormDeps, call: Handled<'signOut'>) {
  if (call.actor.kind === 'user')
    await run(deps, call, 'account.deleteSession', {}, { sessionId: 'current' }).catch((error: unknown) => {
      // The session has already ended, which is the desired result.
      if (!(error instanceof Failure && error.type === 'user_session_not_found')) throw error;
    });
  return successOr(deps, call, 'sign-in', 'signedOut');
}
