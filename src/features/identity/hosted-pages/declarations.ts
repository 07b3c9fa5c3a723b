import { z } from 'zod';
import { page, redirect } from '#src/contract/declaration.js';
import { bodySizes } from '#src/contract/limits.js';
import type { PageName } from './places.js';

const url = z.string().max(2048);
/** Query parameters that every page passes on. */
export const place = {
  project: z.string().max(36).default(''),
  success: url.default('').meta({ description: 'Where the user goes afterwards: a page on a platform of the project' }),
} as const;
/** Names of the texts that report a success. */
const notices = [
  'sent',
  'sentSms',
  'sentCode',
  'changed',
  'registered',
  'signedOut',
  'joined',
  'addressRemoved',
  'saved',
  'linkSent',
  'passwordSaved',
  'passkeyAdded',
  'accountDeleted',
  'authenticatorAdded',
  '',
] as const;
/** Query parameters of the pages. */
export const pageQuery = z.object({
  ...place,
  error: z.string().max(64).catch('').meta({ description: 'What went wrong before: the type of an error' }),
  notice: z.enum(notices).catch(''),
  by: z.enum(['email', 'phone']).catch('email').meta({ description: 'How a code was sent' }),
  userId: z.string().max(64).default(''),
  secret: z.string().max(256).default(''),
  challengeId: z.string().max(36).default(''),
  factors: z.string().max(64).default('').meta({ description: 'The second factors of the user, with commas' }),
  teamId: z.string().max(36).default(''),
  membershipId: z.string().max(36).default(''),
});
/** Query parameters of a page. */
export type PageQuery = z.output<typeof pageQuery>;

/** The declaration of a page that ignores session cookies and is the same for all visitors. */
export const shown = {
  tag: 'pages',
  method: 'GET',
  access: { project: false, auth: ['guest'] },
  limits: { calls: 'none' },
  input: { query: pageQuery },
} as const;
/** Declares such a page. */
export const view = (name: PageName, id: string, summary: string) =>
  ({
    ...shown,
    id,
    path: `/auth/${name}`,
    summary,
    reply: { status: 200, shape: page, errors: ['project_not_found'] },
  }) as const;
/** A field of a form. */
export const field = z.string().max(1024).default('');
/** The declaration of a form. */
export const post = {
  tag: 'pages',
  method: 'POST',
  access: { auth: ['guest', 'user'], jwt: false },
  limits: { bodyBytes: bodySizes.account },
  input: { query: z.object({ ...place, failure: url.default('') }), form: true },
  reply: { status: 302, shape: redirect, errors: [] },
} as const;
/** The declaration of a form that logs in. */
export const loginForm = {
  ...post,
  limits: { ...post.limits, calls: 'login' },
  reply: { ...post.reply, session: 'renews' },
} as const;
