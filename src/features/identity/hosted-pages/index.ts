import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { type Call, implement, invoke, type Operation } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import { addressBelow } from '#src/contract/web-address.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Projects } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import { hostedPagesApi, pageQuery } from './api.js';
import { createLogos } from './branding/logos.js';
import { type PageName, pageAt } from './places.js';
import type { KeptInput } from './problem.js';
import { createViews, type ShowPage } from './service.js';

export { hostedErrorAddress } from './places.js';

interface Services {
  readonly projects: Projects;
  readonly providers: Providers;
  /** The operations that the forms call; the same as for clients. */
  readonly operations: readonly Operation[];
}

interface Deps extends Pick<Services, 'projects'>, Pick<Runtime, 'config'> {
  readonly byId: ReadonlyMap<string, Operation>;
  readonly show: ShowPage;
}

type Handled<Name extends keyof typeof hostedPagesApi> = Call<(typeof hostedPagesApi)[Name]>;
type Submission = Pick<Handled<'signIn' | 'proveSecondFactor'>, 'project' | 'actor' | 'query' | 'request'>;
type Texts = Readonly<Record<string, string>>;

/** Hosted login pages for applications that have none of their own. They work without scripts, except for passkeys. */
export function createHostedPages(runtime: Pick<Runtime, 'db' | 'sql' | 'pages' | 'config'>, services: Services) {
  const { db, config } = runtime;
  const { projects } = services;
  const logos = createLogos(runtime);
  const byId = new Map(services.operations.map((operation) => [operation.declaration.id, operation]));
  const show = createViews(runtime, { ...services, logos });
  const deps: Deps = { projects, config, byId, show };
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
  return { operations: operations.map((operation) => shownAgain(deps, operation)), logos };
}

/** Wraps the operation of a form: a refusal shows the page of the form again and keeps the input of the user. */
function shownAgain(deps: Deps, operation: Operation): Operation {
  if (operation.declaration.form !== true) return operation;
  const handle: Operation['handle'] = async (call) => {
    try {
      return await operation.handle(call);
    } catch (error) {
      if (error instanceof Failure) await showRefused(deps, call as unknown as RefusedCall, error);
      throw error;
    }
  };
  return { ...operation, handle };
}

type RefusedCall = Submission & { readonly body: KeptInput & { readonly form?: string } };

async function showRefused({ config, show }: Deps, call: RefusedCall, failure: Failure): Promise<void> {
  const { project, query, body, request } = call;
  // The page for the second factor is another one.
  if (failure.type === 'user_more_factors_required' || !URL.canParse(query.failure)) return;
  const address = new URL(query.failure);
  const name = pageAt(config.baseUrl, address);
  const given = pageQuery.safeParse(Object.fromEntries(address.searchParams));
  if (name === undefined || !given.success) return;
  const { name: typedName, email, phone, form } = body;
  const typed = Object.fromEntries(
    Object.entries({ name: typedName, email, phone }).filter(([, value]) => value !== undefined && value !== ''),
  );
  const place = { ...given.data, project: project.id, success: query.success };
  request.browser.showErrorAs(
    await show(name, place, request.locale, { failure, typed, isRecovery: form === 'recovery' }),
  );
}

async function signUp(deps: Deps, call: Handled<'signUp'>) {
  const { email, password } = call.body;
  await run(deps, call, 'account.create', { userId: uniqueId, ...call.body });
  // Logging in would reveal whether the address was taken.
  if (call.project.settings['signup.hideExisting']) return to(deps, call, 'sign-in', { notice: 'registered' });
  return open(deps, call, 'account.createEmailSession', { email, password });
}

/** Calls an operation that opens a session. Sets the session cookie and redirects. */
async function open(deps: Deps, call: Submission, id: string, body: object) {
  const { secret, expire } = await run<{ secret: string; expire: string }>(deps, call, id, body);
  const success = successOf(deps, call) ?? addressOf(deps, 'done', keptOf(call));
  return new WithSession(new Redirect(success), { secret, expire });
}

/** Calls an operation like a client, with its validation, limits and records. */
async function run<T = object>(
  { byId }: Deps,
  { project, actor, request }: Submission,
  id: string,
  body: object,
  params: Texts = {},
): Promise<T> {
  const operation = byId.get(id);
  if (operation === undefined) throw new TypeError(`there is no operation ${id}`);
  return (await invoke(operation, { project, actor, params, query: {}, body, request })) as T;
}

function successOf({ projects }: Deps, { project, query }: Submission): URL | undefined {
  return query.success === '' ? undefined : projects.requireOwnUrl(project, query.success, 'success');
}

function addressOf({ config }: Deps, page: string, query: Texts): URL {
  return addressBelow(config.baseUrl, `auth/${page}`, query);
}

function keptOf({ project, query }: Submission) {
  return { project: project.id, success: query.success };
}

function to(deps: Deps, call: Submission, page: string, further: Texts = {}): Redirect {
  return new Redirect(addressOf(deps, page, { ...keptOf(call), ...further }));
}

/** Calls an operation, then redirects to the page. */
async function submit(deps: Deps, call: Submission, id: string, body: object, page: string, notice?: string) {
  await run(deps, call, id, body);
  return to(deps, call, page, notice === undefined ? {} : { notice });
}

async function sendEmail(deps: Deps, call: Handled<'sendEmail'>) {
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

async function sendSms(deps: Deps, call: Handled<'sendSms'>) {
  const input = { userId: uniqueId, phone: dialled(call.body.phone) };
  const { userId } = await run<{ userId: string }>(deps, call, 'account.createPhoneToken', input);
  return to(deps, call, 'code', { userId, by: 'phone', notice: 'sentSms' });
}

/** Converts a phone number as people write it to E.164. */
function dialled(phone: string): string {
  return phone.replace(/[\s()./-]/g, '').replace(/^00/, '+');
}

async function proveSecondFactor(deps: Deps, call: Handled<'proveSecondFactor'>) {
  const { otp, challengeId: begun } = call.body;
  const isCode = /^\d{6}$/.test(otp);
  const challengeId =
    isCode && begun !== '' ? begun : await beginChallenge(deps, call, isCode ? 'totp' : 'recoverycode');
  return open(deps, call, 'account.updateMfaChallenge', { challengeId, otp });
}

async function beginChallenge(deps: Deps, call: Submission, factor: string): Promise<string> {
  return (await run<{ $id: string }>(deps, call, 'account.createMfaChallenge', { factor })).$id;
}

async function sendChallenge(deps: Deps, call: Handled<'sendChallenge'>) {
  const challengeId = await beginChallenge(deps, call, call.body.factor);
  return to(deps, call, 'second-factor', { challengeId, notice: 'sentCode' });
}

async function acceptInvitation(deps: Deps, call: Handled<'acceptInvitation'>) {
  const { teamId, membershipId, ...proof } = call.body;
  const joined = await run(deps, call, 'teams.updateMembershipStatus', proof, { teamId, membershipId });
  const next = successOr(deps, call, 'done', 'joined');
  return joined instanceof WithSession ? new WithSession(next, joined.session) : next;
}

/** Redirects to the page of the application, or to one of the service if it has named none. */
function successOr(deps: Deps, call: Submission, page: string, notice: string): Redirect {
  const success = successOf(deps, call);
  return success === undefined ? to(deps, call, page, { notice }) : new Redirect(success);
}

async function signOut(deps: Deps, call: Handled<'signOut'>) {
  if (call.actor.kind === 'user')
    await run(deps, call, 'account.deleteSession', {}, { sessionId: 'current' }).catch((error: unknown) => {
      // The session has already ended, which is the desired result.
      if (!(error instanceof Failure && error.type === 'user_session_not_found')) throw error;
    });
  return successOr(deps, call, 'sign-in', 'signedOut');
}
