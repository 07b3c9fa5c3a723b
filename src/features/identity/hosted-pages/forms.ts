import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { type Call, invoke, type Operation } from '#src/contract/operation.js';
import { addressBelow } from '#src/contract/web-address.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { AccountShown, Received } from './account-parts.js';
import type { hostedPagesApi } from './api.js';
import { pageQuery } from './declarations.js';
import { isAccountPage, type PageName, pageAt } from './places.js';
import type { KeptInput } from './problem.js';
import type { ShowPage } from './view.js';

/** Services for the forms. */
export interface FormDeps extends Pick<Runtime, 'config'> {
  readonly projects: Projects;
  /** The operations that the forms call; the same as for clients. */
  readonly byId: ReadonlyMap<string, Operation>;
  readonly show: ShowPage;
  /** Reads the caller's account for a page. */
  readonly accountOf: (call: Submission, name: PageName, received?: Received) => Promise<AccountShown | undefined>;
}

/** A call of a hosted page. */
export type Handled<Name extends keyof typeof hostedPagesApi> = Call<(typeof hostedPagesApi)[Name]>;
/** A call of a page or form, as far as all have it in common. */
export type Submission = Pick<Handled<'signIn' | 'proveSecondFactor'>, 'project' | 'actor' | 'request'> & {
  readonly query: { readonly success: string };
};
type Texts = Readonly<Record<string, string>>;

/** Wraps the operation of a form: a refusal shows the page of the form again and keeps the input of the user. */
export function shownAgain(deps: FormDeps, operation: Operation): Operation {
  if (operation.declaration.input?.form !== true) return operation;
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

type RefusedCall = Submission & {
  readonly query: { readonly failure: string };
  readonly body: KeptInput & { readonly form?: string; readonly uri?: string };
};

async function showRefused(deps: FormDeps, call: RefusedCall, failure: Failure): Promise<void> {
  const { config, show, accountOf } = deps;
  const { project, query, body, request } = call;
  // The page for the second factor is another one.
  if (failure.type === 'user_more_factors_required' || !URL.canParse(query.failure)) return;
  const address = new URL(query.failure);
  const name = pageAt(config.baseUrl, address);
  const given = pageQuery.safeParse(Object.fromEntries(address.searchParams));
  if (name === undefined || !given.success) return;
  if (isAccountPage(name) && failure.type === 'user_challenge_required') {
    request.browser.leadErrorsTo(addressOf(deps, 'sign-in', { project: project.id, success: address.href }));
    return;
  }
  const { name: typedName, email, phone, form, uri } = body;
  const typed = Object.fromEntries(
    Object.entries({ name: typedName, email, phone }).filter(([, value]) => value !== undefined && value !== ''),
  );
  const place = { ...given.data, project: project.id, success: query.success };
  const refusal = { failure, typed, isRecovery: form === 'recovery' };
  const account = await accountOf(call, name, uri === undefined ? {} : { uri });
  request.browser.showErrorAs(await show(name, place, request.locale, { refusal, account }));
}

/** Calls an operation that opens a session. Sets the session cookie and redirects. */
export async function open(deps: FormDeps, call: Submission, id: string, body: object) {
  const { secret, expire } = await run<{ secret: string; expire: string }>(deps, call, id, body);
  const success = successOf(deps, call) ?? addressOf(deps, 'done', keptOf(call));
  return new WithSession(new Redirect(success), { secret, expire });
}

/** Calls an operation like a client, with its validation, limits and records. */
export async function run<T = object>(
  { byId }: Pick<FormDeps, 'byId'>,
  { project, actor, request }: Submission,
  id: string,
  body: object,
  params: Texts = {},
): Promise<T> {
  const operation = byId.get(id);
  if (operation === undefined) throw new TypeError(`there is no operation ${id}`);
  return (await invoke(operation, { project, actor, params, query: {}, body, request })) as T;
}

/** The page of the application, if the address names one. Throws Failure if it is on no platform. */
export function successOf({ projects }: FormDeps, { project, query }: Submission): URL | undefined {
  return query.success === '' ? undefined : projects.requireOwnUrl(project, query.success, 'success');
}

/** The address of a hosted page. */
export function addressOf({ config }: Pick<FormDeps, 'config'>, page: string, query: Texts): URL {
  return addressBelow(config.baseUrl, `auth/${page}`, query);
}

/** Query parameters that lead from page to page. */
export function keptOf({ project, query }: Submission) {
  return { project: project.id, success: query.success };
}

/** Redirects to a hosted page. */
export function to(deps: FormDeps, call: Submission, page: string, further: Texts = {}): Redirect {
  return new Redirect(addressOf(deps, page, { ...keptOf(call), ...further }));
}

/** Calls an operation, then redirects to the page. */
export async function submit(
  deps: FormDeps,
  call: Submission,
  id: string,
  body: object,
  page: string,
  notice?: string,
) {
  await run(deps, call, id, body);
  return to(deps, call, page, notice === undefined ? {} : { notice });
}

/** Redirects to the page of the application, or to one of the service if it has named none. */
export function successOr(deps: FormDeps, call: Submission, page: string, notice: string): Redirect {
  const success = successOf(deps, call);
  return success === undefined ? to(deps, call, page, { notice }) : new Redirect(success);
}

/** Converts a phone number as people write it to E.164. */
export function dialled(phone: string): string {
  return phone.replace(/[\s()./-]/g, '').replace(/^00/, '+');
}
