import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, image, page, redirect } from '#src/contract/operation.js';
import { visibleText } from '#src/contract/shapes.js';
import { otpText } from '#src/contract/typed-secret.js';

const url = z.string().max(2048);
/** Query parameters that every page passes on. */
const place = {
  project: z.string().max(36).default(''),
  success: url.default('').meta({ description: 'Where the user goes afterwards: a page on a platform of the project' }),
} as const;
/** Query parameters of the pages. */
export const pageQuery = z.object({
  ...place,
  error: z.string().max(64).catch('').meta({ description: 'What went wrong before: the type of an error' }),
  notice: z
    .enum(['sent', 'sentSms', 'sentCode', 'changed', 'registered', 'signedOut', 'joined', 'addressRemoved', ''])
    .catch(''),
  by: z.enum(['email', 'phone']).catch('email').meta({ description: 'How a code was sent' }),
  userId: z.string().max(64).default(''),
  secret: z.string().max(256).default(''),
  challengeId: z.string().max(36).default(''),
  factors: z.string().max(64).default('').meta({ description: 'The second factors of the user, with commas' }),
  teamId: z.string().max(36).default(''),
  membershipId: z.string().max(36).default(''),
});

// Pages ignore session cookies: they are the same for all visitors.
const shown = {
  tag: 'pages',
  method: 'GET',
  project: false,
  auth: ['guest'],
  limit: 'none',
  query: pageQuery,
} as const;
const view = { ...shown, status: 200, reply: page, errors: ['project_not_found'] } as const;
const imageSeconds = 86_400;

const field = z.string().max(1024).default('');
const post = {
  tag: 'pages',
  method: 'POST',
  auth: ['guest', 'user'],
  jwt: false,
  form: true,
  bodyBytes: bodySizes.account,
  query: z.object({ ...place, failure: url.default('') }),
  status: 302,
  reply: redirect,
} as const;
const login = { ...post, session: 'renews', limit: 'login' } as const;

/** The hosted login pages and their forms. A refused form is answered with its page, which shows the error. */
export const hostedPagesApi = declare({
  signInPage: { ...view, id: 'pages.signIn', path: '/auth/sign-in', summary: 'The page to sign in with.' },
  signUpPage: { ...view, id: 'pages.signUp', path: '/auth/sign-up', summary: 'The page to create an account with.' },
  emailPage: { ...view, id: 'pages.email', path: '/auth/email', summary: 'The page that mails a code or a link.' },
  phonePage: { ...view, id: 'pages.phone', path: '/auth/phone', summary: 'The page that sends a code by SMS.' },
  codePage: { ...view, id: 'pages.code', path: '/auth/code', summary: 'The page that takes a code that was sent.' },
  linkPage: { ...view, id: 'pages.link', path: '/auth/link', summary: 'The page that a mailed link leads to.' },
  secondFactorPage: {
    ...view,
    id: 'pages.secondFactor',
    path: '/auth/second-factor',
    summary: 'The page that takes the second factor of a login.',
  },
  recoveryPage: { ...view, id: 'pages.recovery', path: '/auth/recovery', summary: 'The page for a lost password.' },
  resetPage: { ...view, id: 'pages.reset', path: '/auth/reset', summary: 'The page that sets a new password.' },
  verifyPage: { ...view, id: 'pages.verify', path: '/auth/verify', summary: 'The page that confirms an address.' },
  removeAddressPage: {
    ...view,
    id: 'pages.removeAddress',
    path: '/auth/remove-address',
    summary: 'The page that removes an address from an account whose owner does not receive its mail.',
  },
  donePage: { ...view, id: 'pages.done', path: '/auth/done', summary: 'The page after a login without `success`.' },
  invitationPage: {
    ...view,
    id: 'pages.invitation',
    path: '/auth/invitation',
    summary: 'The page that accepts an invitation to a team.',
  },
  failedPage: {
    ...view,
    id: 'pages.failed',
    path: '/auth/failed',
    summary: 'The page after a login by another site has failed, where the application has none.',
  },
  signOutPage: { ...view, id: 'pages.signOut', path: '/auth/sign-out', summary: 'The page to sign out with.' },
  magicUrlPage: {
    ...shown,
    id: 'pages.magicURL',
    path: '/pages/magic-url',
    summary: 'Leads links of earlier mails to the page that mailed links lead to.',
    query: pageQuery.pick({ project: true, userId: true, secret: true }),
    status: 302,
    reply: redirect,
    errors: ['project_not_found'],
  },
  logo: {
    ...shown,
    id: 'pages.logo',
    path: '/auth/logo',
    summary: 'The logo of the project.',
    query: z.object({ project: place.project, v: z.string().max(64).default('') }),
    status: 200,
    reply: image,
    cacheSeconds: imageSeconds,
    errors: ['project_not_found', 'project_logo_not_found'],
  },
  verifiedPage: { ...view, id: 'pages.verified', path: '/auth/verified', summary: 'The page after a confirmation.' },

  signIn: {
    ...login,
    id: 'pages.postSignIn',
    path: '/auth/sign-in',
    summary: 'Logs in by the form of the page.',
    body: z.object({ email: field, password: field }),
    errors: [],
    carriesOut: ['account.createEmailSession'],
  },
  signUp: {
    ...login,
    id: 'pages.postSignUp',
    path: '/auth/sign-up',
    summary: 'Creates an account by the form of the page and logs in.',
    limit: 'signup',
    body: z.object({ name: visibleText(1024).default(''), email: field, password: field }),
    errors: [],
    carriesOut: ['account.create', 'account.createEmailSession'],
  },
  sendEmail: {
    ...post,
    id: 'pages.postEmail',
    path: '/auth/email',
    summary: 'Mails a code or a link that logs in.',
    limit: 'send',
    body: z.object({ email: field, form: z.enum(['code', 'link']).default('code') }),
    errors: [],
    carriesOut: ['account.createMagicURLToken', 'account.createEmailToken'],
  },
  sendSms: {
    ...post,
    id: 'pages.postPhone',
    path: '/auth/phone',
    summary: 'Sends a code that logs in by SMS.',
    limit: 'send',
    body: z.object({ phone: field }),
    errors: [],
    carriesOut: ['account.createPhoneToken'],
  },
  redeem: {
    ...login,
    id: 'pages.postCode',
    path: '/auth/code',
    summary: 'Logs in by a code or link that was sent.',
    body: z.object({ userId: field, secret: field }),
    errors: [],
    carriesOut: ['account.createSession'],
  },
  proveSecondFactor: {
    ...post,
    id: 'pages.postSecondFactor',
    path: '/auth/second-factor',
    summary: 'Completes a login by its second factor.',
    auth: ['user'],
    pending: true,
    session: 'renews',
    limit: 'data',
    body: z.object({
      otp: otpText.default(''),
      challengeId: field,
      form: z.enum(['code', 'recovery']).default('code'),
    }),
    errors: [],
    carriesOut: ['account.createMfaChallenge', 'account.updateMfaChallenge'],
  },
  sendChallenge: {
    ...post,
    id: 'pages.postChallenge',
    path: '/auth/challenge',
    summary: 'Sends a code that completes a login as its second factor.',
    auth: ['user'],
    pending: true,
    limit: 'send',
    body: z.object({ factor: z.enum(['email', 'phone']) }),
    errors: [],
    carriesOut: ['account.createMfaChallenge'],
  },
  acceptInvitation: {
    ...login,
    id: 'pages.postInvitation',
    path: '/auth/invitation',
    summary: 'Accepts an invitation to a team by the secret of the link, and logs in where nobody is logged in.',
    body: z.object({ teamId: field, membershipId: field, userId: field, secret: field }),
    errors: [],
    carriesOut: ['teams.updateMembershipStatus'],
  },
  signOut: {
    ...post,
    id: 'pages.postSignOut',
    path: '/auth/sign-out',
    summary: 'Ends the session of the browser.',
    pending: true,
    session: 'closes',
    limit: 'data',
    body: z.object({}),
    errors: [],
    carriesOut: ['account.deleteSession'],
  },
  recover: {
    ...post,
    id: 'pages.postRecovery',
    path: '/auth/recovery',
    summary: 'Mails a link to set a new password.',
    limit: 'send',
    body: z.object({ email: field }),
    errors: [],
    carriesOut: ['account.createRecovery'],
  },
  reset: {
    ...post,
    id: 'pages.postReset',
    path: '/auth/reset',
    summary: 'Sets a new password by the secret of the link.',
    limit: 'login',
    body: z.object({ userId: field, secret: field, password: field }),
    errors: [],
    carriesOut: ['account.updateRecovery'],
  },
  verify: {
    ...post,
    id: 'pages.postVerify',
    path: '/auth/verify',
    summary: 'Confirms an email address by the secret of the link.',
    limit: 'login',
    body: z.object({ userId: field, secret: field }),
    errors: [],
    carriesOut: ['account.updateEmailVerification'],
  },
  removeAddress: {
    ...post,
    id: 'pages.postRemoveAddress',
    path: '/auth/remove-address',
    summary: 'Removes an email address from an account by the secret of the second link of a verification mail.',
    limit: 'login',
    body: z.object({ userId: field, secret: field }),
    errors: [],
    carriesOut: ['account.deleteEmailVerification'],
  },
});
