import type { User } from '#src/contract/actor.js';
import { Redirect } from '#src/contract/browser.js';
import { Failure } from '#src/contract/errors.js';
import { type Call, implement, type Operation } from '#src/contract/operation.js';
import { WithSession } from '#src/contract/with-session.js';
import { bind } from '#src/platform/runtime/bind.js';
import { accountPagesApi } from './account-api.js';
import type { Received } from './account-parts.js';
import { type PageQuery, pageQuery } from './declarations.js';
import {
  addressOf,
  dialled,
  type FormDeps,
  keptOf,
  run,
  type Submission,
  submit,
  successOf,
  successOr,
  to,
} from './forms.js';
import type { PageName } from './places.js';

type Handled<Name extends keyof typeof accountPagesApi> = Call<(typeof accountPagesApi)[Name]>;
type Visit = Pick<Handled<'accountPage'>, 'project' | 'actor' | 'query' | 'request'>;

/** The pages on which users manage their own account. */
export function createAccountPages(deps: FormDeps): readonly Operation[] {
  const page = (name: PageName) => (call: Visit) => open(deps, call, name);
  return implement(accountPagesApi, {
    accountPage: page('account'),
    namePage: page('account-name'),
    emailPage: page('account-email'),
    phonePage: page('account-phone'),
    phoneCodePage: page('account-phone-code'),
    passwordPage: page('account-password'),
    authenticatorPage: page('account-authenticator'),
    codesPage: page('account-codes'),
    deletePage: page('account-delete'),
    ...bind(deps, { changeEmail, changePhone, sendProof, beginAuthenticator, confirmAuthenticator }),
    ...bind(deps, { removeAuthenticator, createCodes, changePasskey, endSession }),
    rename: (call) => submit(deps, call, 'account.updateName', call.body, 'account', 'saved'),
    confirmPhone: (call) => {
      const proof = { userId: call.actor.id, secret: call.body.secret };
      return submit(deps, call, 'account.updatePhoneVerification', proof, 'account', 'saved');
    },
    changePassword: (call) => {
      const { password, current: oldPassword } = call.body;
      return submit(deps, call, 'account.updatePassword', { password, oldPassword }, 'account', 'passwordSaved');
    },
    unlink: async (call) => {
      await run(deps, call, 'account.deleteIdentity', {}, { identityId: call.body.identityId });
      return to(deps, call, 'account', { notice: 'saved' });
    },
    delete: async (call) => {
      await run(deps, call, 'account.delete', {});
      return successOr(deps, call, 'sign-in', 'accountDeleted');
    },
  });
}

/** Shows a page, or leads a visitor without a session to the sign-in page and back. */
async function open(deps: FormDeps, call: Visit, name: PageName) {
  const { project, actor, query, request } = call;
  if (actor.kind === 'user')
    return deps.show(name, query, request.locale, { account: await deps.accountOf(call, name) });
  // The address of the application is checked before it is passed on.
  successOf(deps, call);
  const success = addressOf(deps, name, keptOf(call)).href;
  return new Redirect(addressOf(deps, 'sign-in', { project: project.id, success, error: query.error }));
}

/** Answers a form with a page that shows new secrets to the caller. */
async function answer(
  deps: FormDeps,
  call: Submission,
  name: PageName,
  received: Received,
  notice: PageQuery['notice'] = '',
) {
  const query = { ...pageQuery.parse({}), ...keptOf(call), notice };
  return deps.show(name, query, call.request.locale, { account: await deps.accountOf(call, name, received) });
}

async function changeEmail(deps: FormDeps, call: Handled<'changeEmail'>) {
  const { email, current, password } = call.body;
  const isFirst = call.actor.account.passwordHash === null;
  const changed = await run(deps, call, 'account.updateEmail', { email, password: isFirst ? password : current });
  const next = to(deps, call, 'account', { notice: await sendLink(deps, call) });
  return changed instanceof WithSession ? new WithSession(next, changed.session) : next;
}

/** Mails the link that confirms the address. Returns the notice for the user. */
async function sendLink(deps: FormDeps, call: Submission & { readonly actor: User }): Promise<string> {
  const success = addressOf(deps, 'account', keptOf(call)).href;
  const url = addressOf(deps, 'verify', { success }).href;
  try {
    await run(deps, call, 'account.createEmailVerification', { url });
    return 'linkSent';
  } catch (error) {
    if (error instanceof Failure && error.type === 'user_email_already_verified') return 'saved';
    throw error;
  }
}

async function changePhone(deps: FormDeps, call: Handled<'changePhone'>) {
  const { phone, current: password } = call.body;
  await run(deps, call, 'account.updatePhone', { phone: dialled(phone), password });
  return deps.config.smsUrl === undefined ? to(deps, call, 'account', { notice: 'saved' }) : sendCode(deps, call);
}

async function sendCode(deps: FormDeps, call: Submission) {
  await run(deps, call, 'account.createPhoneVerification', {});
  return to(deps, call, 'account-phone-code', { notice: 'sentCode' });
}

async function sendProof(deps: FormDeps, call: Handled<'sendProof'>) {
  if (call.body.by === 'phone') return sendCode(deps, call);
  return to(deps, call, 'account', { notice: await sendLink(deps, call) });
}

async function beginAuthenticator(deps: FormDeps, call: Handled<'beginAuthenticator'>) {
  const { uri } = await run<{ uri: string }>(deps, call, 'account.createTotp', {});
  return answer(deps, call, 'account-authenticator', { uri });
}

async function confirmAuthenticator(deps: FormDeps, call: Handled<'confirmAuthenticator'>) {
  const { otp } = call.body;
  const { recoveryCodes } = await run<{ recoveryCodes: string[] }>(deps, call, 'account.confirmTotp', { otp });
  return answer(deps, call, 'account-codes', { codes: recoveryCodes }, 'authenticatorAdded');
}

/** Removes the app and turns the second step off: otherwise logins would require a code by mail. */
async function removeAuthenticator(deps: FormDeps, call: Handled<'removeAuthenticator'>) {
  await run(deps, call, 'account.deleteMfaAuthenticator', {}, { type: 'totp' }).catch((error: unknown) => {
    if (!(error instanceof Failure && error.type === 'user_authenticator_not_found')) throw error;
  });
  return submit(deps, call, 'account.updateMfa', { mfa: false }, 'account', 'saved');
}

async function createCodes(deps: FormDeps, call: Handled<'createCodes'>) {
  const create = (verb: 'create' | 'update') =>
    run<{ recoveryCodes: string[] }>(deps, call, `account.${verb}MfaRecoveryCodes`, {});
  const { recoveryCodes } = await create('update').catch((error: unknown) => {
    if (error instanceof Failure && error.type === 'user_recovery_codes_not_found') return create('create');
    throw error;
  });
  return answer(deps, call, 'account-codes', { codes: recoveryCodes });
}

async function changePasskey(deps: FormDeps, call: Handled<'changePasskey'>) {
  const { passkeyId, name, form } = call.body;
  if (form === 'rename') await run(deps, call, 'account.updatePasskey', { name }, { passkeyId });
  else await run(deps, call, 'account.deletePasskey', {}, { passkeyId });
  return to(deps, call, 'account', { notice: 'saved' });
}

async function endSession(deps: FormDeps, call: Handled<'endSession'>) {
  const { sessionId } = call.body;
  const { sessions } = await run<{ sessions: { $id: string; current: boolean }[] }>(
    deps,
    call,
    'account.listSessions',
    {},
  );
  const ended = sessions.filter(({ $id, current }) => (sessionId === '' ? !current : $id === sessionId));
  for (const { $id } of ended) await run(deps, call, 'account.deleteSession', {}, { sessionId: $id });
  return to(deps, call, 'account', { notice: 'saved' });
}
