import { z } from 'zod';
import { declare, page } from '#src/contract/declaration.js';
import { visibleText } from '#src/contract/shapes.js';
import { otpText } from '#src/contract/typed-secret.js';
import { field, pageQuery, post } from './declarations.js';
import type { PageName } from './places.js';

/** Declares a page. Unlike the other pages, these show the account of the session in the browser. */
const view = (name: PageName, id: string, summary: string) =>
  ({
    tag: 'pages',
    method: 'GET',
    id,
    path: `/auth/${name}`,
    summary,
    access: { auth: ['guest', 'user'], jwt: false },
    limits: { calls: 'data' },
    input: { query: pageQuery },
    reply: { status: 200, shape: page, orRedirect: true, errors: [] },
  }) as const;
const form = {
  ...post,
  access: { ...post.access, auth: ['user'] },
  limits: { ...post.limits, calls: 'data' },
} as const;
const shown = { ...form, reply: { ...form.reply, orPage: true } } as const;

/** The pages on which users manage their own account, and their forms. Visitors without a session are led to the sign-in page. */
export const accountPagesApi = declare({
  accountPage: view('account', 'pages.account', 'The page that shows the account of the user.'),
  namePage: view('account-name', 'pages.accountName', 'The page to change the name.'),
  emailPage: view('account-email', 'pages.accountEmail', 'The page to change the email address.'),
  phonePage: view('account-phone', 'pages.accountPhone', 'The page to change the phone number.'),
  phoneCodePage: view(
    'account-phone-code',
    'pages.accountPhoneCode',
    'The page that takes the code that confirms the phone number.',
  ),
  passwordPage: view('account-password', 'pages.accountPassword', 'The page to change the password.'),
  authenticatorPage: view(
    'account-authenticator',
    'pages.accountAuthenticator',
    'The page to add or remove an authenticator app.',
  ),
  codesPage: view('account-codes', 'pages.accountCodes', 'The page to create recovery codes.'),
  deletePage: view('account-delete', 'pages.accountDelete', 'The page to delete the account.'),

  rename: {
    ...form,
    id: 'pages.postAccountName',
    path: '/auth/account-name',
    summary: 'Changes the name of the user.',
    carriesOut: ['account.updateName'],
    input: { ...form.input, body: z.object({ name: visibleText(1024).default('') }) },
  },
  changeEmail: {
    ...form,
    id: 'pages.postAccountEmail',
    path: '/auth/account-email',
    summary: 'Changes the email address of the user and mails a link that confirms it.',
    carriesOut: ['account.updateEmail', 'account.createEmailVerification'],
    limits: { ...form.limits, calls: 'send' },
    input: { ...form.input, body: z.object({ email: field, current: field, password: field }) },
    reply: { ...form.reply, session: 'renews' },
  },
  changePhone: {
    ...form,
    id: 'pages.postAccountPhone',
    path: '/auth/account-phone',
    summary: 'Changes the phone number of the user and sends a code that confirms it.',
    carriesOut: ['account.updatePhone', 'account.createPhoneVerification'],
    limits: { ...form.limits, calls: 'send' },
    input: { ...form.input, body: z.object({ phone: field, current: field }) },
  },
  confirmPhone: {
    ...form,
    id: 'pages.postAccountPhoneCode',
    path: '/auth/account-phone-code',
    summary: 'Confirms the phone number by the code.',
    carriesOut: ['account.updatePhoneVerification'],
    limits: { ...form.limits, calls: 'login' },
    input: { ...form.input, body: z.object({ secret: field }) },
  },
  sendProof: {
    ...form,
    id: 'pages.postAccountProof',
    path: '/auth/account-proof',
    summary: 'Sends the link or the code that confirms an address or number of the user.',
    carriesOut: ['account.createEmailVerification', 'account.createPhoneVerification'],
    limits: { ...form.limits, calls: 'send' },
    input: { ...form.input, body: z.object({ by: z.enum(['email', 'phone']) }) },
  },
  changePassword: {
    ...form,
    id: 'pages.postAccountPassword',
    path: '/auth/account-password',
    summary: 'Changes the password and ends all other sessions.',
    carriesOut: ['account.updatePassword'],
    input: { ...form.input, body: z.object({ current: field, password: field }) },
  },
  beginAuthenticator: {
    ...shown,
    id: 'pages.postAccountAuthenticatorStart',
    path: '/auth/account-authenticator-start',
    summary: 'Begins to add an authenticator app: answers with its QR code.',
    carriesOut: ['account.createTotp'],
    input: { ...shown.input, body: z.object({}) },
  },
  confirmAuthenticator: {
    ...shown,
    id: 'pages.postAccountAuthenticator',
    path: '/auth/account-authenticator',
    summary: 'Adds the authenticator app by its first code, and answers with recovery codes.',
    carriesOut: ['account.confirmTotp'],
    input: {
      ...shown.input,
      body: z.object({
        otp: otpText.default(''),
        uri: z
          .string()
          .max(1024)
          .refine((uri) => uri.startsWith('otpauth://') && URL.canParse(uri), 'must be a provisioning URI')
          .meta({ description: 'The provisioning URI, to show its QR code again' }),
      }),
    },
  },
  removeAuthenticator: {
    ...form,
    id: 'pages.postAccountAuthenticatorRemoval',
    path: '/auth/account-authenticator-removal',
    summary: 'Removes the authenticator app.',
    carriesOut: ['account.deleteMfaAuthenticator'],
    input: { ...form.input, body: z.object({}) },
  },
  createCodes: {
    ...shown,
    id: 'pages.postAccountCodes',
    path: '/auth/account-codes',
    summary: 'Creates recovery codes, which replace earlier ones, and answers with them.',
    carriesOut: ['account.createMfaRecoveryCodes', 'account.updateMfaRecoveryCodes'],
    input: { ...shown.input, body: z.object({}) },
  },
  changePasskey: {
    ...form,
    id: 'pages.postAccountPasskey',
    path: '/auth/account-passkey',
    summary: 'Renames or removes a passkey.',
    carriesOut: ['account.updatePasskey', 'account.deletePasskey'],
    input: {
      ...form.input,
      body: z.object({ passkeyId: field, name: visibleText(1024).default(''), form: z.enum(['rename', 'remove']) }),
    },
  },
  unlink: {
    ...form,
    id: 'pages.postAccountIdentity',
    path: '/auth/account-identity',
    summary: 'Unlinks an account at an identity provider.',
    carriesOut: ['account.deleteIdentity'],
    input: { ...form.input, body: z.object({ identityId: field }) },
  },
  endSession: {
    ...form,
    id: 'pages.postAccountSession',
    path: '/auth/account-session',
    summary: 'Ends another session of the user, or all others.',
    carriesOut: ['account.deleteSession'],
    input: {
      ...form.input,
      body: z.object({ sessionId: field.meta({ description: 'Empty for all other sessions' }) }),
    },
  },
  delete: {
    ...form,
    id: 'pages.postAccountDelete',
    path: '/auth/account-delete',
    summary: 'Deletes the account of the user.',
    carriesOut: ['account.delete'],
    input: { ...form.input, body: z.object({}) },
    reply: { ...form.reply, session: 'closes' },
  },
});
